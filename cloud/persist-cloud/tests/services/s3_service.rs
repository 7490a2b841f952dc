//! S3 on a folder, by `s3s-fs`, which verifies signatures and checksums like S3.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use hyper::Method;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::TcpListener;
use tokio::sync::RwLock;

pub(crate) const BUCKET: &str = "saves";
pub(crate) const KEY: &str = "key";
pub(crate) const SECRET: &str = "secret";

/// Creates a service on a folder, and its bucket if it does not exist.
pub(crate) fn service(folder: &Path) -> S3Service {
    std::fs::create_dir_all(folder.join(BUCKET)).unwrap();
    let mut service = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder).unwrap());
    service.set_auth(SimpleAuth::from_single(KEY, SECRET));
    service.build()
}

pub(crate) async fn serve(listener: TcpListener, service: S3Service) {
    let locks: Arc<Vec<RwLock<()>>> = Arc::new((0..64).map(|_| RwLock::default()).collect());
    let hasher = RandomState::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let _ = stream.set_nodelay(true);
        let (service, locks, hasher) = (service.clone(), Arc::clone(&locks), hasher.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let (service, locks) = (service.clone(), Arc::clone(&locks));
                #[allow(clippy::cast_possible_truncation, reason = "any of them will do")]
                let lock = hasher.hash_one(request.uri().path()) as usize % locks.len();
                async move {
                    // S3 checks the condition and writes the object and its ETag atomically. This server takes three
                    // steps, and without the locks a get could return the old object with the new ETag.
                    let (mut _write, mut _read) = (None, None);
                    match *request.method() {
                        Method::PUT => _write = Some(locks[lock].write().await),
                        Method::GET => _read = Some(locks[lock].read().await),
                        _ => {}
                    }
                    Service::call(&service, request).await
                }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}
