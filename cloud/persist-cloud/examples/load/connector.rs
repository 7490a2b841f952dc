//! A plain HTTP client for `object_store` that counts requests and bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response};
use hyper_util::client::legacy::{Client, connect};
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};

/// The number of requests, and of the bytes of their bodies.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Returns the requests, and the bytes sent and received, since the last call.
    pub(crate) fn take(&self) -> [u64; 3] {
        [&self.requests, &self.sent, &self.received].map(|count| count.swap(0, Ordering::Relaxed))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Connector {
    client: Client<connect::HttpConnector, Full<Bytes>>,
    traffic: Arc<Traffic>,
}

impl Connector {
    pub(crate) fn new(traffic: Arc<Traffic>) -> Self {
        let mut http = connect::HttpConnector::new();
        http.set_nodelay(true);
        Self { client: Client::builder(TokioExecutor::new()).build(http), traffic }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        self.traffic.requests.fetch_add(1, Ordering::Relaxed);
        self.traffic.sent.fetch_add(body.len() as u64, Ordering::Relaxed);
        let request = Request::from_parts(parts, Full::new(body));
        let answer = self.client.request(request).await;
        let answer = answer.map_err(|error| match error.is_connect() {
            true => HttpError::new(HttpErrorKind::Connect, error),
            false => HttpError::new(HttpErrorKind::Interrupted, error),
        });
        let (parts, body) = answer?.into_parts();
        let body = body.collect().await;
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))?;
        let body = body.to_bytes();
        self.traffic.received.fetch_add(body.len() as u64, Ordering::Relaxed);
        Ok(Response::from_parts(parts, HttpResponseBody::from(body)))
    }
}
