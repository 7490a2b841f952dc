//! The log of a web server: many short strings.

use persist::Persist;
use rand::Rng;
use rand_pcg::Lcg64Xsh32;

use super::{all, name, pick};

/// A whole log.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Logs {
    pub logs: Vec<Log>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Log {
    pub address: Address,
    pub identity: String,
    pub userid: String,
    pub date: String,
    pub request: String,
    pub code: u16,
    pub size: u64,
}

/// The four bytes of an IPv4 address.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Address {
    pub x0: u8,
    pub x1: u8,
    pub x2: u8,
    pub x3: u8,
}

/// Makes the 10 000 requests.
pub fn generate() -> Logs {
    let mut rng = super::rng();
    Logs { logs: all(&mut rng, 10_000, log) }
}

fn log(rng: &mut Lcg64Xsh32) -> Log {
    // The strings which are put together come first in the stream.
    let date = date(rng);
    let request = request(rng);
    Log {
        address: Address {
            x0: rng.gen_range(0..=255),
            x1: rng.gen_range(0..=255),
            x2: rng.gen_range(0..=255),
            x3: rng.gen_range(0..=255),
        },
        identity: "-".to_owned(),
        userid: name(rng, &USERS),
        date,
        request,
        code: pick(rng, &CODES),
        size: rng.gen_range(0..100_000_000),
    }
}

/// Numbers are written without leading zeros.
fn date(rng: &mut Lcg64Xsh32) -> String {
    let day = rng.gen_range(1..=28);
    let month = pick(rng, &MONTHS);
    let year = rng.gen_range(1970..=2021);
    let hour = rng.gen_range(0..24);
    let minute = rng.gen_range(0..60);
    let second = rng.gen_range(0..60);
    let zone = pick(rng, &ZONES);
    // `+` also gives the sign of zero.
    format!("{day}/{month}/{year}:{hour}:{minute}:{second} {zone:+03}00")
}

fn request(rng: &mut Lcg64Xsh32) -> String {
    let method = pick(rng, &METHODS);
    let route = pick(rng, &ROUTES);
    let protocol = pick(rng, &PROTOCOLS);
    format!("{method} {route} {protocol}")
}

const USERS: [&str; 9] =
    ["-", "alice", "bob", "carmen", "david", "eric", "frank", "george", "harry"];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Hours from Greenwich.
const ZONES: [i8; 25] =
    [-12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "UPDATE", "DELETE"];

const ROUTES: [&str; 7] = [
    "/favicon.ico",
    "/css/index.css",
    "/css/font-awsome.min.css",
    "/img/logo-full.svg",
    "/img/splash.jpg",
    "/api/login",
    "/api/logout",
];

const PROTOCOLS: [&str; 4] = ["HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"];

/// The registered HTTP status codes.
const CODES: [u16; 63] = [
    100, 101, 102, 103, 200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304,
    305, 306, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414,
    415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 500, 501, 502, 503, 504,
    505, 506, 507, 508, 510, 511,
];
