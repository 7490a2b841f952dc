//! A load test: clients write saves of many players, clients and the server are killed, and no write may be lost.
//!
//! ```sh
//! cargo run --release --all-features --example load -- --players 10000 --clients 16 --seconds 60
//! ```
//!
//! It starts a server of S3, and then one of PostgreSQL. A URL names a running server, which is not killed:
//! `postgres://user@host/db`, in which the table exists, or `http://host:9000/bucket` or `s3://bucket`, with the
//! variables `AWS_*`. For `https` and `s3`, add `--features object_store/aws`.
//!
//! Each client is a process. It reads the save of a player, increments its own count in it, and writes it. It prints a
//! line before and after, which the checker also reads from clients that were killed. At the end, the saves must have
//! every acknowledged write.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "this is a test"
)]

mod checker;
mod client;
mod connector;
#[path = "../../tests/services/postgres_server.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod postgres_server;
#[path = "../../tests/services/s3_service.rs"]
mod s3_service;
mod service;

use std::io::BufReader;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use checker::Tally;
use client::{SLOT, Work};
use service::Server;

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("client") => Work::parse(&arguments[1..]).and_then(|work| client::run(&work)),
        Some("s3-server") => service::run_s3(&arguments[1], &arguments[2]),
        _ => Options::parse(&arguments).and_then(|options| options.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    players: u64,
    clients: u64,
    seconds: f64,
    size: usize,
    /// The total number of clients that are killed.
    kills: u32,
    url: Option<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failed> {
        let mut options =
            Self { players: 10_000, clients: 16, seconds: 60.0, size: 4000, kills: 8, url: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if !argument.starts_with('-') {
                options.url = Some(argument.clone());
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--players" => options.players = value.parse()?,
                "--clients" => options.clients = value.parse()?,
                "--seconds" => options.seconds = value.parse()?,
                "--bytes" => options.size = value.parse()?,
                "--kills" => options.kills = value.parse()?,
                _ => {
                    return Err(format!(
                        "{argument} is none of --players, --clients, --seconds, --bytes, --kills"
                    )
                    .into());
                }
            }
        }
        if options.players == 0 || options.clients == 0 {
            return Err("there must be players and clients".into());
        }
        Ok(options)
    }

    fn run(&self) -> Result<(), Failed> {
        if let Some(url) = &self.url {
            return self.load(url, None);
        }
        let mut s3 = Server::s3()?;
        self.load(&s3.url(), Some(&mut s3))?;
        drop(s3);
        match Server::postgres() {
            Some(mut server) => self.load(&server.url(), Some(&mut server)),
            None => Ok(()),
        }
    }

    fn load(&self, url: &str, mut server: Option<&mut Server>) -> Result<(), Failed> {
        let kind = if url.starts_with("postgres") { "PostgreSQL" } else { "S3" };
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        let run = format!("load-{}", time.as_millis());
        let work = Work {
            url: url.to_owned(),
            run,
            client: 0,
            players: self.players,
            clients: self.clients,
            size: self.size,
            seconds: self.seconds,
        };
        let (players, clients, size) = (self.players, self.clients, self.size);
        println!("{kind}: {players} players, {clients} clients, saves of {size} bytes");
        let start = Instant::now();
        let tally = self.clients(&work, server.as_deref_mut())?;
        report(&tally, start.elapsed().as_secs_f64());
        if let Some(server) = server {
            println!("  stored: {}", server.stored()?);
        }

        let start = Instant::now();
        let cloud = service::open(url, &work.run, &Arc::default())?;
        let wrong = block_on(tally.check(&cloud, &work, 0..players))?;
        for line in wrong.iter().take(20) {
            println!("  {line}");
        }
        if !wrong.is_empty() {
            return Err(format!("{kind}: the writes of {} pairs are wrong", wrong.len()).into());
        }
        println!("  checked in {:.1} s: nothing is lost", start.elapsed().as_secs_f64());
        // Prove that the checker detects a lost save: delete one, and check again.
        if let (_, Some(player)) = tally.players() {
            let slots = cloud.player(&work.player(player))?;
            let (_, version) = slots.get(SLOT).wait()?.ok_or("the save is there")?;
            slots.delete(SLOT, &version).wait()?;
            if block_on(tally.check(&cloud, &work, player..player + 1))?.is_empty() {
                return Err("the checker does not see that a save is gone".into());
            }
        }
        let swept = cloud.sweep(Duration::ZERO).wait()?;
        println!("  swept {} orphans, {} bytes", swept.objects, swept.bytes);
        Ok(())
    }

    /// Runs the clients, kills some of them, and kills the server halfway.
    fn clients(&self, work: &Work, mut server: Option<&mut Server>) -> Result<Tally, Failed> {
        let start = Instant::now();
        let start_client = |client: u64| -> Result<Running, Failed> {
            let seconds = (self.seconds - start.elapsed().as_secs_f64()).max(0.0);
            Running::start(&Work { client, seconds, ..work.clone() })
        };
        let mut running = (0..self.clients).map(start_client).collect::<Result<Vec<_>, _>>()?;
        let mut tally = Tally::default();
        let steps = u64::from(self.kills) + 1;
        for step in 1..steps {
            let at = self.seconds * (step as f64) / (steps as f64);
            thread::sleep(Duration::from_secs_f64((at - start.elapsed().as_secs_f64()).max(0.0)));
            if step == steps / 2
                && let Some(server) = server.take()
            {
                let start = Instant::now();
                server.kill()?;
                println!("  the server was killed, and back after {:?}", start.elapsed());
            }
            // A new client, with a new number, replaces the one that was killed.
            let mut killed = running.remove(0);
            killed.process.kill()?;
            tally.add(killed.end()?);
            running.push(start_client(self.clients * step + (step - 1) % self.clients)?);
        }
        for client in running {
            tally.add(client.end()?);
        }
        Ok(tally)
    }
}

/// A client process, and the thread that reads its output.
struct Running {
    process: Child,
    listener: JoinHandle<Result<Tally, Failed>>,
}

impl Running {
    fn start(work: &Work) -> Result<Self, Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("client").args(work.arguments());
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let said = process.stdout.take().ok_or("it is piped")?;
        let client = work.client;
        let listener = thread::spawn(move || Tally::listen(client, BufReader::new(said)));
        Ok(Self { process, listener })
    }

    fn end(mut self) -> Result<Tally, Failed> {
        self.process.wait()?;
        self.listener.join().map_err(|_| "a listener panicked")?
    }
}

fn report(tally: &Tally, seconds: f64) {
    let saves = tally.puts.len();
    let per_save = |count: u64| count as f64 / saves.max(1) as f64;
    println!("  {saves} saves of {} players in {seconds:.1} s", tally.players().0);
    println!(
        "  {:.0} saves per second, {:.0} bytes each",
        saves as f64 / seconds,
        per_save(tally.bytes)
    );
    for (what, times) in [("get", &tally.gets), ("put", &tally.puts)] {
        let mut times = times.clone();
        times.sort_unstable();
        let at = |part: f64| {
            let index = (times.len() as f64 * part) as usize;
            times.get(index.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|part| at(part) as f64 / 1000.0);
        println!("  {what}: p50 {p50:.1} ms, p99 {p99:.1} ms, at most {max:.0} ms");
    }
    println!(
        "  {} conflicts, {} writes of unknown end, {} gets failed",
        tally.conflicts, tally.unknown, tally.failed_gets
    );
    if tally.requests > 0 {
        println!(
            "  {:.2} requests for each save, {:.0} bytes sent, {:.0} received",
            per_save(tally.requests),
            per_save(tally.sent),
            per_save(tally.received)
        );
    }
    if let Some(error) = &tally.error {
        println!("  one of the errors: {error}");
    }
}
