//! A server of S3 for tests, which runs in the test program.

use std::net::SocketAddr;

use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::proxy::Proxy;
use crate::s3_service::{BUCKET, KEY, SECRET, serve, service};

/// A server of S3 with one bucket. Dropping it stops the server.
pub(crate) struct Server {
    address: SocketAddr,
    _runtime: Runtime,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = service(folder.path());
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(listener, service));
        Self { address, _runtime: runtime, _folder: folder }
    }

    /// Creates a client that sends each request once, through a proxy.
    pub(crate) fn client(&self, proxy: &Proxy) -> AmazonS3 {
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        self.builder(proxy).with_retry(retry).build().unwrap()
    }

    /// Creates a client that retries by itself, as clients do by default.
    pub(crate) fn patient_client(&self, proxy: &Proxy) -> AmazonS3 {
        let mut retry = RetryConfig { max_retries: 3, ..RetryConfig::default() };
        retry.backoff.init_backoff = std::time::Duration::from_millis(5);
        self.builder(proxy).with_retry(retry).build().unwrap()
    }

    /// Creates a client of a store without conditional puts.
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
