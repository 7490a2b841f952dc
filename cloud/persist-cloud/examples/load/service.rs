//! The service under load: a running one, or one that this program starts.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::aws::AmazonS3Builder;
use persist_cloud::{Cloud, CloudOptions};
use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::Failed;
use crate::connector::{Connector, Traffic};
use crate::postgres_server;
use crate::s3_service::{BUCKET, KEY, SECRET, serve, service};

/// Connects to the service of a URL. Each run has slots of its own.
pub(crate) fn open(url: &str, run: &str, traffic: &Arc<Traffic>) -> Result<Cloud, Failed> {
    // Enough attempts for a server that was killed, and that is back after some seconds.
    let options = CloudOptions::new().attempts(20);
    if url.starts_with("postgres") {
        return Ok(Cloud::postgres(url.parse()?, NoTls, options)?);
    }
    let mut builder = AmazonS3Builder::from_env().with_region(region());
    match url.strip_prefix("s3://") {
        Some(bucket) => builder = builder.with_bucket_name(bucket),
        None => {
            let (endpoint, bucket) = url.rsplit_once('/').ok_or("the URL names no bucket")?;
            let mut endpoint = endpoint.to_owned();
            if let Some((scheme, rest)) = url.split_once("://")
                && let Some((keys, host)) = rest.split_once('@')
            {
                let (key, secret) = keys.split_once(':').ok_or("the URL names no secret")?;
                builder = builder.with_access_key_id(key).with_secret_access_key(secret);
                let host = host.split('/').next().unwrap_or_default();
                endpoint = format!("{scheme}://{host}");
            }
            builder = builder.with_endpoint(endpoint).with_bucket_name(bucket);
        }
    }
    if url.starts_with("http://") {
        let connector = Connector::new(Arc::clone(traffic));
        builder = builder.with_allow_http(true).with_http_connector(connector);
    }
    Ok(Cloud::object_store(Arc::new(builder.build()?), run, options)?)
}

/// Returns the region of S3; local servers ignore it.
fn region() -> String {
    std::env::var("AWS_REGION").unwrap_or_else(|_| "us-east-1".into())
}

/// A server that this program has started, and can kill.
pub(crate) enum Server {
    S3 { folder: TempDir, port: u16, process: Child },
    Postgres(postgres_server::Server),
}

impl Server {
    pub(crate) fn s3() -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let process = start_s3(folder.path(), port)?;
        Ok(Self::S3 { folder, port, process })
    }

    /// Starts PostgreSQL; returns `None` if it is not installed.
    pub(crate) fn postgres() -> Option<Self> {
        postgres_server::Server::start().map(Self::Postgres)
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::S3 { port, .. } => format!("http://{KEY}:{SECRET}@127.0.0.1:{port}/{BUCKET}"),
            Self::Postgres(server) => {
                format!("postgres://test@127.0.0.1:{}/postgres", server.port())
            }
        }
    }

    /// Describes the objects or rows that the server stores, and their size.
    pub(crate) fn stored(&self) -> Result<String, Failed> {
        match self {
            Self::S3 { folder, .. } => {
                let (mut objects, mut bytes) = (0_u64, 0_u64);
                let mut folders = vec![folder.path().join(BUCKET)];
                while let Some(folder) = folders.pop() {
                    for entry in std::fs::read_dir(folder)? {
                        let entry = entry?;
                        let metadata = entry.metadata()?;
                        if metadata.is_dir() {
                            folders.push(entry.path());
                        } else {
                            objects += 1;
                            bytes += metadata.len();
                        }
                    }
                }
                Ok(format!("{objects} objects, {bytes} bytes"))
            }
            Self::Postgres(server) => {
                let first = |query: &str| server.query(query).pop().unwrap_or_default();
                let table = first("SELECT pg_total_relation_size('persist_saves')");
                let rows = first("SELECT count(*) FROM persist_saves");
                let log = first("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')");
                Ok(format!("{rows} rows, {table} bytes; its log has come to {log} bytes"))
            }
        }
    }

    /// Kills the server while it is working, and restarts it.
    pub(crate) fn kill(&mut self) -> Result<(), Failed> {
        match self {
            Self::S3 { folder, port, process } => {
                process.kill()?;
                process.wait()?;
                // `s3s-fs` writes an object, then its ETag, so a kill can leave an old ETag. It computes a missing one.
                for entry in std::fs::read_dir(folder.path())? {
                    let entry = entry?;
                    if entry.file_name().to_string_lossy().ends_with(".internal.json") {
                        std::fs::remove_file(entry.path())?;
                    }
                }
                *process = start_s3(folder.path(), *port)?;
            }
            Self::Postgres(server) => server.crash(),
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Self::S3 { process, .. } = self {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn start_s3(folder: &Path, port: u16) -> Result<Child, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("s3-server").arg(folder).arg(port.to_string());
    // The server ends when its standard input is closed, which happens when this program ends.
    let process = command.stdin(Stdio::piped()).spawn()?;
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if start.elapsed() > Duration::from_secs(20) {
            return Err("the server of S3 does not start".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(process)
}

/// Runs the server of S3 until standard input is closed.
pub(crate) fn run_s3(folder: &str, port: &str) -> Result<(), Failed> {
    let port: u16 = port.parse()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", port)))?;
    runtime.spawn(serve(listener, service(Path::new(folder))));
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
