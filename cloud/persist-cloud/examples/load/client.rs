//! One client of the load test: reads a save, increments its own count in it, and writes it, again and again.
//!
//! It prints a line before and after each write, so that the checker knows the result even if the client is killed.

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::sync::Arc;
use std::time::{Duration, Instant};

use persist::{ErrorKind, Persist};

use crate::Failed;
use crate::connector::Traffic;
use crate::service::open;

pub(crate) const SLOT: &str = "main";

/// The number of busy players. One save in twenty is for one of them, so that several clients write it concurrently.
const BUSY: u64 = 10;

#[derive(Persist, Default)]
pub(crate) struct Save {
    /// The number of writes of each client to this save. A lost write stays missing in the count.
    pub(crate) writes: BTreeMap<u64, u64>,
    state: Vec<u8>,
}

/// The arguments of a client.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) url: String,
    pub(crate) run: String,
    /// The unique number of the client.
    pub(crate) client: u64,
    pub(crate) players: u64,
    pub(crate) clients: u64,
    pub(crate) size: usize,
    pub(crate) seconds: f64,
}

impl Work {
    pub(crate) fn arguments(&self) -> Vec<String> {
        let Self { url, run, client, players, clients, size, seconds } = self;
        [url, run, client as &dyn ToString, players, clients, size, seconds]
            .map(|part| part.to_string())
            .to_vec()
    }

    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failed> {
        let [url, run, client, players, clients, size, seconds] = arguments else {
            return Err("a client has 7 arguments".into());
        };
        Ok(Self {
            url: url.clone(),
            run: run.clone(),
            client: client.parse()?,
            players: players.parse()?,
            clients: clients.parse()?,
            size: size.parse()?,
            seconds: seconds.parse()?,
        })
    }

    pub(crate) fn player(&self, number: u64) -> String {
        format!("{}-{number}", self.run)
    }
}

pub(crate) fn run(work: &Work) -> Result<(), Failed> {
    let traffic = Arc::new(Traffic::default());
    let cloud = open(&work.url, &work.run, &traffic)?;
    let mut random = work.client.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let end = Instant::now() + Duration::from_secs_f64(work.seconds);
    // First each player of this client's share, then random players.
    let mut own = (work.client % work.clients..work.players).step_by(work.clients.try_into()?);
    while Instant::now() < end {
        let player = match (next() % 20 == 0, own.next()) {
            (false, Some(player)) => player,
            (false, None) => next() % work.players,
            (true, _) => next() % BUSY.min(work.players),
        };
        let slots = cloud.player(&work.player(player))?;
        let start = Instant::now();
        let found = match slots.get(SLOT).wait() {
            Ok(found) => found,
            Err(error) => {
                say(&format!("unread {error}"))?;
                continue;
            }
        };
        let get = start.elapsed().as_micros();
        let mut save: Save = match &found {
            Some((bytes, _)) => persist::from_slice(bytes)?,
            None => Save::default(),
        };
        *save.writes.entry(work.client).or_default() += 1;
        save.state.resize(work.size, 0);
        // Random bytes, like those of a compressed save: no two writes are equal.
        save.state.chunks_mut(8).for_each(|bytes| {
            bytes.copy_from_slice(&next().to_le_bytes()[..bytes.len()]);
        });
        let bytes = persist::to_vec(&save)?;
        let length = bytes.len();
        say(&format!("put {player}"))?;
        let start = Instant::now();
        let result = slots.put_if(SLOT, found.as_ref().map(|(_, version)| version), bytes).wait();
        let put = start.elapsed().as_micros();
        let [requests, sent, received] = traffic.take();
        match result {
            Ok(_) => say(&format!("ok {get} {put} {length} {requests} {sent} {received}"))?,
            Err(error) if error.kind() == ErrorKind::Conflict => {
                say(&format!("conflict {requests} {sent} {received}"))?;
            }
            Err(error) => say(&format!("unknown {error}"))?,
        }
    }
    Ok(())
}

/// Prints a line with a single write, so that it is not truncated when this program is killed.
fn say(line: &str) -> Result<(), Failed> {
    Ok(stdout().write_all(format!("{}\n", line.replace('\n', " ")).as_bytes())?)
}
