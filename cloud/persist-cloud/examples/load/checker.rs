//! Compares the writes that were acknowledged to clients with the saves of the service.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::ops::Range;

use futures_util::{StreamExt, stream};
use persist_cloud::Cloud;

use crate::Failed;
use crate::client::{SLOT, Save, Work};

/// The counts of the writes of one client to one player.
#[derive(Clone, Copy, Default)]
struct Writes {
    acknowledged: u64,
    /// The number of writes without a success or conflict: the client was killed, or got another error.
    unknown: u64,
}

/// The writes, times and errors that clients have reported.
#[derive(Default)]
pub(crate) struct Tally {
    /// The writes by player and client.
    writes: HashMap<u64, BTreeMap<u64, Writes>>,
    pub(crate) gets: Vec<u64>,
    pub(crate) puts: Vec<u64>,
    pub(crate) bytes: u64,
    pub(crate) conflicts: u64,
    pub(crate) unknown: u64,
    pub(crate) failed_gets: u64,
    pub(crate) requests: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) error: Option<String>,
}

impl Tally {
    /// Listens to a client until it ends or is killed.
    pub(crate) fn listen(client: u64, lines: impl BufRead) -> Result<Self, Failed> {
        let mut tally = Self::default();
        let mut pending: Option<u64> = None;
        for line in lines.lines() {
            let line = line?;
            let (word, rest) = line.split_once(' ').ok_or("a line without words")?;
            let numbers: Vec<u64> = rest.split(' ').map_while(|word| word.parse().ok()).collect();
            match (word, &*numbers, pending.take()) {
                ("put", &[player], None) => pending = Some(player),
                ("ok", &[get, put, bytes, requests, sent, received], Some(player)) => {
                    tally.writes_of(player, client).acknowledged += 1;
                    tally.gets.push(get);
                    tally.puts.push(put);
                    tally.bytes += bytes;
                    tally.requests += requests;
                    tally.sent += sent;
                    tally.received += received;
                }
                ("conflict", &[requests, sent, received], Some(_)) => {
                    tally.conflicts += 1;
                    tally.requests += requests;
                    tally.sent += sent;
                    tally.received += received;
                }
                ("unknown", _, Some(player)) => {
                    tally.writes_of(player, client).unknown += 1;
                    tally.unknown += 1;
                    tally.error = Some(rest.to_owned());
                }
                ("unread", _, None) => {
                    tally.failed_gets += 1;
                    tally.error = Some(rest.to_owned());
                }
                _ => return Err(format!("a client says: {line}").into()),
            }
        }
        if let Some(player) = pending {
            tally.writes_of(player, client).unknown += 1;
            tally.unknown += 1;
        }
        Ok(tally)
    }

    fn writes_of(&mut self, player: u64, client: u64) -> &mut Writes {
        self.writes.entry(player).or_default().entry(client).or_default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (player, clients) in other.writes {
            for (client, writes) in clients {
                let own = self.writes_of(player, client);
                own.acknowledged += writes.acknowledged;
                own.unknown += writes.unknown;
            }
        }
        self.gets.extend(other.gets);
        self.puts.extend(other.puts);
        self.bytes += other.bytes;
        self.conflicts += other.conflicts;
        self.unknown += other.unknown;
        self.failed_gets += other.failed_gets;
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.error = self.error.take().or(other.error);
    }

    /// Counts the players that have been saved, and returns one of them.
    pub(crate) fn players(&self) -> (usize, Option<u64>) {
        let is_saved =
            |clients: &BTreeMap<u64, Writes>| clients.values().any(|w| w.acknowledged > 0);
        let mut saved = self.writes.iter().filter(|(_, clients)| is_saved(clients));
        let one = saved.next().map(|(player, _)| *player);
        (saved.count() + usize::from(one.is_some()), one)
    }

    /// Reads the saves of some players; returns a line for each client whose writes are missing or were never made.
    pub(crate) async fn check(
        &self,
        cloud: &Cloud,
        work: &Work,
        players: Range<u64>,
    ) -> Result<Vec<String>, Failed> {
        let mut saves = stream::iter(players)
            .map(async |player| {
                let slots = cloud.player(&work.player(player))?;
                Ok::<_, Failed>((player, slots.get(SLOT).await?))
            })
            .buffer_unordered(32);
        let mut wrong = Vec::new();
        while let Some(found) = saves.next().await {
            let (player, found) = found?;
            let save: Save = match &found {
                Some((save, _)) => persist::from_slice(save)?,
                None => Save::default(),
            };
            let none = BTreeMap::new();
            let clients = self.writes.get(&player).unwrap_or(&none);
            for client in clients.keys().chain(save.writes.keys()) {
                let Writes { acknowledged, unknown } =
                    clients.get(client).copied().unwrap_or_default();
                let found = save.writes.get(client).copied().unwrap_or_default();
                if !(acknowledged..=acknowledged + unknown).contains(&found) {
                    wrong.push(format!(
                        "player {player}: client {client} was told of {acknowledged} writes, and of {unknown} nothing; there are {found}"
                    ));
                }
            }
        }
        Ok(wrong)
    }
}
