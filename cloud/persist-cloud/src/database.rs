//! Stores slots in a table of PostgreSQL.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use persist::save::Header;
use persist::storage::{SlotVersion, StoredSlot};
use persist::{Error, ErrorKind, Limits};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, IsolationLevel, Row, Socket, Transaction};

use crate::failure::{Attempt, Failure, conflict};
use crate::json;

/// The maximum number of open connections.
const CONNECTIONS: usize = 8;

/// The size in bytes above which a save is stored as a large object: client and server hold a whole row in memory.
const LARGE: usize = 8 << 20;

/// The number of bytes of a large object that one statement reads or writes.
const PIECE: i32 = 1 << 20;

/// The number of recent writes whose rows are kept for each slot, without their saves.
///
/// A writer whose answer was lost finds its row when it retries, and so knows that it has succeeded.
const WRITES: i64 = 16;

type Connect = dyn Fn() -> BoxFuture<'static, Result<Client, tokio_postgres::Error>> + Send + Sync;

/// A database with the table of saves, and a pool of idle connections.
pub(crate) struct Database {
    connect: Box<Connect>,
    idle: Mutex<Vec<Client>>,
    connections: Semaphore,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgreSQL")
    }
}

/// A connection taken from the pool. [`keep`](Self::keep) returns it; dropping it closes the connection.
struct Connection<'d> {
    database: &'d Database,
    client: Client,
    _permit: SemaphorePermit<'d>,
}

impl Connection<'_> {
    /// Returns the connection to the pool. It is not called after an error, which leaves the connection in doubt.
    fn keep(self) {
        self.database.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.client);
    }
}

/// A write to a slot: a save, or a deletion.
pub(crate) struct Write<'s> {
    pub(crate) player: &'s str,
    pub(crate) slot: &'s str,
    pub(crate) expected: Option<SlotVersion>,
    /// The save and its header; `None` deletes the slot.
    pub(crate) save: Option<(&'s [u8], &'s Header)>,
    /// The unique name of the write, by which a retry recognizes it.
    pub(crate) name: &'s str,
    /// The number of backups to keep.
    pub(crate) backups: u32,
}

impl Database {
    pub(crate) fn new<T>(config: Config, tls: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let connect = move || -> BoxFuture<'static, Result<Client, tokio_postgres::Error>> {
            let (config, tls) = (config.clone(), tls.clone());
            Box::pin(async move {
                let (client, connection) = config.connect(tls).await?;
                // The task ends when the client is dropped. The client reports the errors of its connection.
                tokio::spawn(async { drop(connection.await) });
                Ok(client)
            })
        };
        Self {
            connect: Box::new(connect),
            idle: Mutex::default(),
            connections: Semaphore::new(CONNECTIONS),
        }
    }

    async fn connection(&self) -> Attempt<Connection<'_>> {
        let permit = self.connections.acquire().await;
        let permit = permit.unwrap_or_else(|_| unreachable!("nobody closes it"));
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(client) = idle() {
            if !client.is_closed() {
                return Ok(Connection { database: self, client, _permit: permit });
            }
        }
        let client = (self.connect)().await.map_err(|error| failed("connect to", &error))?;
        Ok(Connection { database: self, client, _permit: permit })
    }

    pub(crate) async fn get(
        &self,
        player: &str,
        slot: &str,
        limits: &Limits,
    ) -> Attempt<Option<(Vec<u8>, SlotVersion)>> {
        let newest = "SELECT version, size, large, CASE WHEN size <= $3 THEN save END \
            FROM persist_saves WHERE player = $1 AND slot = $2 ORDER BY number DESC LIMIT 1";
        self.read(newest, player, slot, None, limits).await
    }

    pub(crate) async fn get_version(
        &self,
        player: &str,
        slot: &str,
        version: &SlotVersion,
        limits: &Limits,
    ) -> Attempt<Option<Vec<u8>>> {
        let of_version = "SELECT version, size, large, CASE WHEN size <= $3 THEN save END \
            FROM persist_saves WHERE player = $1 AND slot = $2 AND version = $4 \
            AND (save IS NOT NULL OR large IS NOT NULL) ORDER BY number DESC LIMIT 1";
        let found = self.read(of_version, player, slot, Some(version), limits).await?;
        Ok(found.map(|(save, _)| save))
    }

    async fn read(
        &self,
        query: &str,
        player: &str,
        slot: &str,
        version: Option<&SlotVersion>,
        limits: &Limits,
    ) -> Attempt<Option<(Vec<u8>, SlotVersion)>> {
        let failed = |error| failed("read from", &error);
        let mut connection = self.connection().await?;
        // A snapshot: the row and its large object are of one state, even if a writer replaces the save meanwhile.
        let reading = connection.client.build_transaction();
        let reading = reading.isolation_level(IsolationLevel::RepeatableRead).read_only(true);
        let reading = reading.start().await.map_err(failed)?;
        let max = i64::try_from(limits.bytes).unwrap_or(i64::MAX);
        let row = match version.map(ToString::to_string) {
            None => reading.query_opt(query, &[&player, &slot, &max]).await,
            Some(version) => reading.query_opt(query, &[&player, &slot, &max, &version]).await,
        };
        let found = match row.map_err(failed)? {
            Some(row) => save_in(&reading, &row, limits).await?,
            None => None,
        };
        reading.commit().await.map_err(failed)?;
        connection.keep();
        Ok(found)
    }

    pub(crate) async fn backups(&self, player: &str, slot: &str) -> Attempt<Vec<SlotVersion>> {
        let query = "SELECT version FROM persist_saves WHERE player = $1 AND slot = $2 \
            AND (save IS NOT NULL OR large IS NOT NULL) ORDER BY number DESC OFFSET 1";
        let rows = self.rows(query, &[&player, &slot]).await?;
        rows.iter().map(|row| Ok(parsed(row.get(0))?)).collect()
    }

    pub(crate) async fn list(&self, player: &str, limits: &Limits) -> Attempt<Vec<StoredSlot>> {
        let query = "SELECT DISTINCT ON (slot) slot, version, header FROM persist_saves \
            WHERE player = $1 ORDER BY slot, number DESC";
        let rows = self.rows(query, &[&player]).await?;
        let mut slots = Vec::new();
        for row in rows {
            let (Some(version), Some(header)): (Option<&str>, Option<&[u8]>) =
                (row.get(1), row.get(2))
            else {
                continue;
            };
            let version: SlotVersion = parsed(version)?;
            if let Ok(header) = Header::within(header, limits) {
                slots.push(StoredSlot { name: row.get(0), header, size: version.size(), version });
            }
        }
        // The collation of the database may sort names differently.
        slots.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(slots)
    }

    async fn rows(
        &self,
        query: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Attempt<Vec<Row>> {
        let connection = self.connection().await?;
        let rows = connection.client.query(query, parameters).await;
        let rows = rows.map_err(|error| failed("read from", &error))?;
        connection.keep();
        Ok(rows)
    }

    pub(crate) async fn write(&self, write: &Write<'_>) -> Attempt<()> {
        let mut connection = self.connection().await?;
        let failed = |error| failed("write to", &error);
        let transaction = connection.client.transaction().await.map_err(failed)?;
        let result = write.run(&transaction).await;
        match &result {
            // If the commit fails, the write may have happened: the next attempt then finds the name of this write.
            Ok(()) => transaction.commit().await.map_err(failed)?,
            Err(error) if !error.is_transient => transaction.rollback().await.map_err(failed)?,
            // Dropping the connection also rolls back the transaction.
            Err(_) => return result,
        }
        connection.keep();
        result
    }
}

impl Write<'_> {
    async fn run(&self, transaction: &Transaction<'_>) -> Attempt<()> {
        let failed = |error| failed("write to", &error);
        let Self { player, slot, expected, save, name, backups } = self;
        // The lock admits one writer of a slot at a time, even while the slot has no rows. If the server is still
        // executing an earlier attempt of this write, this attempt waits until it has ended.
        let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1::text || '/' || $2::text, 0))";
        transaction.query(lock, &[player, slot]).await.map_err(failed)?;
        let known = "SELECT number, version, write FROM persist_saves \
            WHERE player = $1 AND slot = $2 ORDER BY number DESC";
        let rows = transaction.query(known, &[player, slot]).await.map_err(failed)?;
        // An earlier attempt of this write has succeeded, and its answer was lost.
        if rows.iter().any(|row| row.get::<_, &str>(2) == *name) {
            return Ok(());
        }
        let current = rows.first().and_then(|row| row.get::<_, Option<&str>>(1));
        let current: Option<SlotVersion> = current.map(parsed).transpose()?;
        if save.is_none() && current.is_none() {
            return Ok(());
        }
        if current != *expected {
            return Err(conflict(slot).into());
        }
        let number = rows.first().map_or(0, |row| row.get::<_, i64>(0)) + 1;
        let retained = match save {
            Some((save, header)) => {
                self.insert(transaction, number, save, header).await?;
                i64::from(*backups) + 1
            }
            None => {
                let deleted = "INSERT INTO persist_saves (player, slot, number, write) \
                    VALUES ($1, $2, $3, $4)";
                let values: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
                    &[player, slot, &number, name];
                transaction.execute(deleted, values).await.map_err(failed)?;
                0
            }
        };
        // Remove saves beyond the backups, but keep their rows: the names of the writes are needed for retries.
        let old = "SELECT number, large FROM persist_saves WHERE player = $1 AND slot = $2 \
            AND (save IS NOT NULL OR large IS NOT NULL) ORDER BY number DESC OFFSET $3";
        for row in transaction.query(old, &[player, slot, &retained]).await.map_err(failed)? {
            if let Some(large) = row.get::<_, Option<u32>>(1) {
                transaction.query("SELECT lo_unlink($1)", &[&large]).await.map_err(failed)?;
            }
            let empty = "UPDATE persist_saves SET save = NULL, large = NULL \
                WHERE player = $1 AND slot = $2 AND number = $3";
            let number: i64 = row.get(0);
            transaction.execute(empty, &[player, slot, &number]).await.map_err(failed)?;
        }
        let forgotten = "DELETE FROM persist_saves WHERE player = $1 AND slot = $2 \
            AND number <= $3 AND save IS NULL AND large IS NULL";
        let last = number - WRITES;
        transaction.execute(forgotten, &[player, slot, &last]).await.map_err(failed)?;
        Ok(())
    }

    async fn insert(
        &self,
        transaction: &Transaction<'_>,
        number: i64,
        save: &[u8],
        header: &Header,
    ) -> Attempt<()> {
        let failed = |error| failed("write to", &error);
        let large = match save.len() > LARGE {
            true => Some(insert_large(transaction, save).await.map_err(failed)?),
            false => None,
        };
        let version = SlotVersion::from_save(save);
        let size = i64::try_from(version.size()).unwrap_or(i64::MAX);
        let generation = i64::try_from(header.generation).unwrap_or(i64::MAX);
        let [application, application_version] = [&header.application, &header.application_version]
            .map(|text| text.as_deref().filter(|text| is_text(text)));
        let devices: serde_json::Map<_, _> =
            header.devices().map(|(device, saves)| (device.to_owned(), saves.into())).collect();
        let devices =
            Some(serde_json::Value::Object(devices).to_string()).filter(|text| is_text(text));
        let metadata = json::info(header).filter(|text| is_text(text));
        let in_row = large.is_none().then_some(save);
        let insert = "INSERT INTO persist_saves (player, slot, number, write, version, size, generation, \
            application, application_version, devices, metadata, header, save, large) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::jsonb, $11::text::jsonb, $12, $13, $14)";
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 14] = [
            &self.player,
            &self.slot,
            &number,
            &self.name,
            &version.to_string(),
            &size,
            &generation,
            &application,
            &application_version,
            &devices,
            &metadata,
            &header_bytes(save),
            &in_row,
            &large,
        ];
        transaction.execute(insert, &values).await.map(drop).map_err(failed)
    }
}

async fn insert_large(
    transaction: &Transaction<'_>,
    save: &[u8],
) -> Result<u32, tokio_postgres::Error> {
    let large: u32 = transaction.query_one("SELECT lo_create(0)", &[]).await?.get(0);
    let mut at = 0_i64;
    for piece in save.chunks(PIECE as usize) {
        transaction.query("SELECT lo_put($1, $2, $3)", &[&large, &at, &piece]).await?;
        at += i64::from(PIECE);
    }
    Ok(large)
}

/// Reads the save in a row or in the row's large object; returns `None` if the row says that the slot was deleted.
async fn save_in(
    reading: &Transaction<'_>,
    row: &Row,
    limits: &Limits,
) -> Attempt<Option<(Vec<u8>, SlotVersion)>> {
    let Some(version) = row.get::<_, Option<&str>>(0) else { return Ok(None) };
    let version: SlotVersion = parsed(version)?;
    if version.size() > limits.bytes {
        let (size, max) = (version.size(), limits.bytes);
        let what =
            format!("the save has {size} bytes, over the limit of {max}; raise `Limits::bytes`");
        return Err(Error::new(ErrorKind::TooLarge, what).into());
    }
    let save = match (row.get::<_, Option<u32>>(2), row.get::<_, Option<Vec<u8>>>(3)) {
        (Some(large), _) => large_object(reading, large, version.size()).await?,
        (None, save) => save.unwrap_or_default(),
    };
    if SlotVersion::from_save(&save) != version {
        let what = "the save in the database is not the one that was written; get a backup";
        return Err(Error::new(ErrorKind::Damaged, what).into());
    }
    Ok(Some((save, version)))
}

async fn large_object(reading: &Transaction<'_>, large: u32, size: u64) -> Attempt<Vec<u8>> {
    let mut save = Vec::new();
    while (save.len() as u64) < size {
        let at = save.len() as i64;
        let row = reading.query_one("SELECT lo_get($1, $2, $3)", &[&large, &at, &PIECE]).await;
        // Unlike rows, large objects disappear from snapshots when they are unlinked. The next attempt finds the newer
        // save.
        let row = row.map_err(|e| Failure { is_transient: true, ..failed("read from", &e) })?;
        let bytes: &[u8] = row.get(0);
        if bytes.is_empty() {
            break;
        }
        save.extend_from_slice(bytes);
    }
    Ok(save)
}

/// Returns the header at the start of a save: 16 bytes that end with a length, that many bytes, and a checksum of 4.
fn header_bytes(save: &[u8]) -> &[u8] {
    let length =
        save.get(12..16).and_then(|length| length.try_into().ok()).map_or(0, u32::from_le_bytes);
    let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(20);
    save.get(..end).unwrap_or(save)
}

/// Returns whether PostgreSQL can store the text: its `text` and `jsonb` cannot contain NUL.
fn is_text(text: &str) -> bool {
    !text.contains('\0') && !text.contains("\\u0000")
}

fn parsed(version: &str) -> Result<SlotVersion, Error> {
    version.parse().map_err(|error: Error| {
        Error::new(ErrorKind::Damaged, format!("the table of saves is damaged: {error}"))
    })
}

/// Converts an error of the database into a failure, which is transient unless the server rejected the statement.
fn failed(doing: &str, error: &tokio_postgres::Error) -> Failure {
    let (what, is_transient) = match error.as_db_error() {
        // SQLSTATE classes: connection exception, transaction rollback, insufficient resources, operator intervention,
        // system error.
        Some(db) => {
            let class = db.code().code().get(..2).unwrap_or_default();
            (db.to_string(), ["08", "40", "53", "57", "58"].contains(&class))
        }
        None => (error.to_string(), true),
    };
    let error = Error::new(ErrorKind::Io, format!("cannot {doing} the database: {what}"));
    Failure { error, is_transient }
}
