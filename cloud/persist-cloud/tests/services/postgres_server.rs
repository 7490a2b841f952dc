//! A server of PostgreSQL for tests, started if it is installed.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tokio_postgres::{Config, NoTls};

use crate::block_on;

/// A server with its own temporary folder, on a free port of this machine.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
}

impl Server {
    /// Returns the server that all tests share; prints a message and returns `None` if PostgreSQL is not installed.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SERVER: OnceLock<Option<Server>> = OnceLock::new();
        SERVER.get_or_init(Self::start).as_ref()
    }

    /// Starts a new server, for one test alone.
    #[allow(clippy::zombie_processes, reason = "the watcher outlives the program")]
    pub(crate) fn start() -> Option<Self> {
        let is_installed = run(Path::new("/"), "initdb", &["--version"]).is_some();
        if !is_installed {
            eprintln!("no initdb: PostgreSQL not tested; install Debian's `postgresql`");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        chown_to_nobody(folder.path());
        let data = folder.path().join("data");
        let data = data.to_str().unwrap();
        run(
            folder.path(),
            "initdb",
            &["-D", data, "-A", "trust", "-U", "test", "-E", "UTF8", "--no-sync"],
        )
        .expect("initdb makes the files of a server");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=50"
        );
        let log = folder.path().join("log");
        let start = ["-D", data, "-w", "-l", log.to_str().unwrap(), "-o", &options, "start"];
        run(folder.path(), "pg_ctl", &start).expect("pg_ctl starts the server");
        // Statics are not dropped, and test programs may be killed. This watcher stops the server in both cases.
        let watch = format!(
            "while ps -p {} >/dev/null; do sleep 0.2; done; pg_ctl -D {data} -m immediate stop; rm -rf {}",
            std::process::id(),
            folder.path().display()
        );
        let mut watcher = command(folder.path(), "sh", &["-c", &watch]);
        watcher.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { folder, port };
        server.execute(persist_cloud::POSTGRES_TABLE);
        Some(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the configuration of a client that connects to a port, which may be the port of a proxy.
    pub(crate) fn config(port: u16) -> Config {
        format!("host=127.0.0.1 port={port} user=test dbname=postgres").parse().unwrap()
    }

    pub(crate) fn execute(&self, statements: &str) {
        self.query(statements);
    }

    /// Runs a query, and returns the first column of each row as text.
    pub(crate) fn query(&self, statements: &str) -> Vec<String> {
        block_on(async {
            let (client, connection) = Self::config(self.port).connect(NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let messages = client.simple_query(statements).await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
            let rows = messages.into_iter().filter_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => {
                    Some(row.get(0).unwrap_or("NULL").to_owned())
                }
                _ => None,
            });
            rows.collect()
        })
    }

    /// Stops the server without a shutdown, like a power failure, and restarts it.
    pub(crate) fn crash(&self) {
        let data = self.folder.path().join("data");
        let restart = ["-D", data.to_str().unwrap(), "-w", "-m", "immediate", "restart"];
        run(self.folder.path(), "pg_ctl", &restart).expect("pg_ctl starts the server again");
        thread::sleep(Duration::from_millis(50));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Stop the server before its folder is removed: the folder has the id of its process.
        let data = self.folder.path().join("data");
        let stop = ["-D", data.to_str().unwrap(), "-m", "immediate", "stop"];
        let _ = run(self.folder.path(), "pg_ctl", &stop);
    }
}

/// Prepares a command of PostgreSQL, as the user `nobody` for root: the server refuses to run as root.
fn command(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("runuser");
            command.args(["-u", "nobody", "--", program]);
            command
        }
        false => Command::new(program),
    };
    command.args(arguments).current_dir(folder).env("LC_ALL", "C");
    command
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Option<()> {
    let output =
        command(folder, program, arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
    output.is_ok_and(|status| status.success()).then_some(())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n")
}

fn chown_to_nobody(folder: &Path) {
    if is_root() {
        let is_given = Command::new("chown").arg("nobody").arg(folder).status().unwrap().success();
        assert!(is_given, "the folder of the server belongs to its user");
    }
}
