//! The conditions of the figures: the versions of the rivals, the machine, the compiler and the day.

use std::fs::read_to_string;
use std::time::{SystemTime, UNIX_EPOCH};

const RIVALS: [&str; 16] = [
    "wincode",
    "bitcode",
    "speedy",
    "savefile",
    "rkyv",
    "postcard",
    "borsh",
    "bincode",
    "rmp-serde",
    "serde_json",
    "fory",
    "fyrox-core",
    "hecs",
    "undo",
    "undo_2",
    "lz4_flex",
];

/// The versions that the lock file gives, which are those that were compiled.
pub(crate) fn rivals() -> String {
    RIVALS.map(|name| format!("{name} {}", version(name))).join(", ")
}

/// The versions of persist's rivals are exact; if a crate is in the lock file in two versions, the newer one is last.
fn version(name: &str) -> &'static str {
    let package = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = include_str!("../Cargo.lock").rsplit_once(&package).expect("a dependency");
    rest.split_once('"').expect("a closed text").0
}

/// Processor, cores, cache, memory, system and compiler.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = field("/proc/cpuinfo", "model name").replace("(R)", "");
    let cache = read("/sys/devices/system/cpu/cpu0/cache/index3/size").replace('K', "");
    let cache = cache.parse::<u64>().map_or("?".into(), |kib| (kib >> 10).to_string());
    let memory = field("/proc/meminfo", "MemTotal").replace(" kB", "");
    let memory = memory.parse::<u64>().map_or("?".into(), |kib| (kib >> 20).to_string());
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel = kernel.split('.').take(2).collect::<Vec<_>>().join(".");
    let compiler = env!("COMPILER");
    format!(
        "{processor}, {cores} cores, {cache} MiB of L3, {memory} GiB, Linux {kernel}, {compiler}, lto, one codegen unit"
    )
}

/// The day in Greenwich, by Howard Hinnant's `civil_from_days`.
pub(crate) fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) =
        (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month < 3);
    format!("{year}-{month:02}-{day:02}")
}

fn read(path: &str) -> String {
    read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The first line of that name in one of the system's files.
fn field(path: &str, name: &str) -> String {
    let text = read(path);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
    line.map_or("unknown".into(), |(_, value)| value.trim().to_owned())
}
