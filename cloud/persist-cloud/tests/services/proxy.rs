//! A proxy between client and server that injects faults into chosen requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use tokio::net::TcpStream;

/// A fault that the proxy injects into a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The request is lost before it reaches the server.
    DropRequest,
    /// The server executes the request, but the answer is lost.
    DropAnswer,
    /// The request takes longer than others.
    Delay,
    /// The server receives the request twice. The client gets the second answer.
    Duplicate,
    /// The client gets an error, and the server receives the request after later ones.
    Reorder,
    /// The server answers with an error, and does not execute the request.
    Error500,
    /// The server executes the request, but answers with an error.
    Error500Late,
    /// An intermediary answers that the precondition failed.
    Error412,
    /// The connection is closed in the middle of the answer.
    Truncate,
}

impl Fault {
    pub(crate) const ALL: [Self; 9] = [
        Self::DropRequest,
        Self::DropAnswer,
        Self::Delay,
        Self::Duplicate,
        Self::Reorder,
        Self::Error500,
        Self::Error500Late,
        Self::Error412,
        Self::Truncate,
    ];
}

/// The delay of a reordered request, longer than a client waits before it retries.
pub(crate) const LATE: Duration = Duration::from_millis(300);

/// A plain HTTP client that injects faults itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxy(Arc<State>);

#[derive(Debug, Default)]
struct State {
    requests: AtomicUsize,
    /// The numbers of requests, from 1, and their faults.
    faults: Mutex<Vec<(usize, Fault)>>,
}

impl Proxy {
    /// Restarts the count of requests, and sets the faults of some of them.
    pub(crate) fn plan(&self, faults: &[(usize, Fault)]) {
        self.0.requests.store(0, Ordering::SeqCst);
        *self.0.faults.lock().unwrap() = faults.to_vec();
    }

    pub(crate) fn requests(&self) -> usize {
        self.0.requests.load(Ordering::SeqCst)
    }

    fn next(&self) -> Option<Fault> {
        let number = self.0.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let faults = self.0.faults.lock().unwrap();
        faults.iter().find(|(at, _)| *at == number).map(|(_, fault)| *fault)
    }
}

impl HttpConnector for Proxy {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Proxy {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let request = Request::from_parts(parts, body);
        let lost = || {
            HttpError::new(
                HttpErrorKind::Interrupted,
                std::io::Error::other("the connection was lost"),
            )
        };
        let said = |status: StatusCode| {
            Ok(Response::builder().status(status).body(Bytes::from("<Error/>").into()).unwrap())
        };
        match self.next() {
            None => send(request).await.map(whole),
            Some(Fault::DropRequest) => Err(lost()),
            Some(Fault::DropAnswer) => {
                let _ = send(request).await;
                Err(lost())
            }
            Some(Fault::Delay) => {
                tokio::time::sleep(LATE).await;
                send(request).await.map(whole)
            }
            Some(Fault::Duplicate) => {
                let _ = send(request.clone()).await;
                send(request).await.map(whole)
            }
            Some(Fault::Reorder) => {
                tokio::spawn(async {
                    tokio::time::sleep(LATE).await;
                    let _ = send(request).await;
                });
                Err(lost())
            }
            Some(Fault::Error500) => said(StatusCode::INTERNAL_SERVER_ERROR),
            Some(Fault::Error500Late) => {
                let _ = send(request).await;
                said(StatusCode::INTERNAL_SERVER_ERROR)
            }
            Some(Fault::Error412) => said(StatusCode::PRECONDITION_FAILED),
            Some(Fault::Truncate) => {
                let (parts, body) = send(request).await?.into_parts();
                let cut = body.slice(..body.len() / 2);
                Ok(Response::from_parts(parts, cut.into()))
            }
        }
    }
}

fn whole(answer: Response<Bytes>) -> HttpResponse {
    answer.map(HttpResponseBody::from)
}

async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let failed = |error: hyper::Error| HttpError::new(HttpErrorKind::Request, error);
    let (mut parts, body) = request.into_parts();
    let server = parts.uri.authority().unwrap().as_str().to_owned();
    parts.headers.insert(hyper::header::HOST, server.parse().unwrap());
    parts.uri = parts.uri.path_and_query().unwrap().as_str().parse().unwrap();
    let stream = TcpStream::connect(&server).await;
    let stream = stream.map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    tokio::spawn(connection);
    let request = Request::from_parts(parts, Full::new(body));
    let (parts, body) = sender.send_request(request).await.map_err(failed)?.into_parts();
    Ok(Response::from_parts(parts, body.collect().await.map_err(failed)?.to_bytes()))
}
