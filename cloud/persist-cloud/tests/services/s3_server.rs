//! A server of S3 on a folder: `s3s-fs`, which signs and checks as S3 does.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Method;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::proxy::Proxy;

const BUCKET: &str = "saves";
const KEY: &str = "key";
const SECRET: &str = "secret";

/// A server of S3 with one bucket, which ends when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    _runtime: Runtime,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(listener, service.build()));
        Self { address, _runtime: runtime, _folder: folder }
    }

    /// A client that makes each request once, through a proxy.
    pub(crate) fn client(&self, proxy: &Proxy) -> AmazonS3 {
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        self.builder(proxy).with_retry(retry).build().unwrap()
    }

    /// One as programs have it, which tries again by itself.
    pub(crate) fn patient_client(&self, proxy: &Proxy) -> AmazonS3 {
        let mut retry = RetryConfig { max_retries: 3, ..RetryConfig::default() };
        retry.backoff.init_backoff = std::time::Duration::from_millis(5);
        self.builder(proxy).with_retry(retry).build().unwrap()
    }

    /// One of a store that has no conditional puts.
    pub(crate) fn client_without_conditions(&self, proxy: &Proxy) -> AmazonS3 {
        let disabled = object_store::aws::S3ConditionalPut::Disabled;
        self.builder(proxy).with_conditional_put(disabled).build().unwrap()
    }

    fn builder(&self, proxy: &Proxy) -> AmazonS3Builder {
        AmazonS3Builder::new()
            .with_endpoint(format!("http://{}", self.address))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_bucket_name(BUCKET)
            .with_access_key_id(KEY)
            .with_secret_access_key(SECRET)
            .with_http_connector(proxy.clone())
    }
}

async fn serve(listener: TcpListener, service: S3Service) {
    let writes = Arc::new(Mutex::new(()));
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (service, writes) = (service.clone(), Arc::clone(&writes));
        tokio::spawn(async move {
            let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let (service, writes) = (service.clone(), Arc::clone(&writes));
                async move {
                    // S3 looks at the condition and writes in one step. This server looks first and writes then.
                    let _one = match *request.method() {
                        Method::PUT => Some(writes.lock().await),
                        _ => None,
                    };
                    Service::call(&service, request).await
                }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}
