//! An editing program that is killed at random times: the next session has everything that was reported.
//!
//! A parent starts a child that edits a world, or a document, in a session and reports each edit, once it returned, over a pipe; and kills it. What is recovered then
//! must be, object by object and entry by entry, one of the states that the child went through, no older than the last one reported. The parent knows these from
//! doing the same edits in a copy of the folder.
//!
//! 12 times each, and 400 times with `PERSIST_LONG_TESTS=1`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "it is a test")]

mod document;
mod edits;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use persist::history::{Drag, Flush, SessionOptions};
use persist::{Persist, Result, Session, World};
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const CHILD: &str = "edit-until-killed";

/// Edits of a child, if it is not killed before.
const EDITS: usize = 150;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [CHILD, "world", folder, seed, flush] => {
            child::<World>(Path::new(folder), seed.parse().unwrap(), flush);
        }
        [CHILD, _, folder, seed, flush] => {
            child::<document::Document>(Path::new(folder), seed.parse().unwrap(), flush);
        }
        _ if arguments.iter().any(|argument| argument == "--list") => println!("kills: test"),
        _ => {
            let kills = short_or_long(12, 400);
            let results = [kill_often::<World>(kills), kill_often::<document::Document>(kills)];
            println!("test a_killed_editor_loses_no_edit_that_it_reported ... ok");
            for (name, (late, total)) in [World::NAME, document::Document::NAME].iter().zip(results)
            {
                println!("{name}: {kills} kills, {total} edits recovered, {late} not reported yet");
            }
        }
    }
}

/// What is edited.
trait Target: Persist + Default + 'static {
    const NAME: &'static str;

    fn options() -> Result<SessionOptions<Self>>;

    /// One edit, undo, redo, transaction or save.
    fn edit(session: &mut Session<Self>, drag: &mut Option<Drag>, random: &mut Pcg64Mcg);

    /// All that is to be the same after a recovery.
    fn render(session: &Session<Self>) -> String;
}

impl Target for World {
    const NAME: &'static str = "world";

    fn options() -> Result<SessionOptions<Self>> {
        edits::options()
    }

    fn edit(session: &mut Session, drag: &mut Option<Drag>, random: &mut Pcg64Mcg) {
        edits::edit(session, drag, random);
    }

    fn render(session: &Session) -> String {
        edits::render(session)
    }
}

fn policy(flush: &str) -> Flush {
    match flush {
        "every" => Flush::EveryEdit,
        "interval" => Flush::Every(Duration::from_millis(3)),
        _ => Flush::OnIdle,
    }
}

fn child<T: Target>(folder: &Path, seed: u64, flush: &str) {
    let mut session = open::<T>(folder, policy(flush));
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut pipe, mut drag) = (std::io::stdout(), None);
    for number in 1..=EDITS {
        T::edit(&mut session, &mut drag, &mut random);
        pipe.write_all(format!("{number}\n").as_bytes()).unwrap();
        pipe.flush().unwrap();
    }
    // It is killed here, if not before.
    std::thread::sleep(Duration::from_secs(60));
}

fn open<T: Target>(folder: &Path, flush: Flush) -> Session<T> {
    let options = T::options().unwrap().flush(flush);
    options.open(folder.join("target.sav"), folder.join("target.journal")).unwrap().0
}

/// Kills children, and compares what is left of each; returns how many edits were recovered that had not been reported, and how many in all.
fn kill_often<T: Target>(kills: u64) -> (usize, usize) {
    let home = tempfile::tempdir().unwrap();
    let (folder, copy) = (home.path().join("level"), home.path().join("copy"));
    fs::create_dir(&folder).unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(20);
    let (mut late, mut total) = (0, 0);
    for kill in 0..kills {
        // A history grows from child to child; now and then it begins anew.
        if kill % 16 == 15 {
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
        }
        let states = states::<T>(&folder, &copy, kill);
        let reported = run::<T>(&folder, kill, &mut random);
        copy_folder(&folder, &copy);
        let session = open::<T>(&copy, Flush::OnIdle);
        let recovered = T::render(&session);
        let Some(found) = states.iter().rposition(|state| *state == recovered) else {
            let near = &states[reported.min(states.len() - 1)];
            panic!(
                "kill {kill}, {reported} reported: this was never there:\n{recovered}\nbut:\n{near}"
            );
        };
        assert!(found >= reported, "kill {kill}: {found} edits of {reported} that were reported");
        late += found - reported;
        total += found;
    }
    (late, total)
}

/// All states that a child of this seed goes through, from what is in the folder.
fn states<T: Target>(folder: &Path, copy: &Path, seed: u64) -> Vec<String> {
    copy_folder(folder, copy);
    let mut session = open::<T>(copy, Flush::OnIdle);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut states, mut drag) = (vec![T::render(&session)], None);
    for _ in 0..EDITS {
        T::edit(&mut session, &mut drag, &mut random);
        states.push(T::render(&session));
    }
    states
}

/// Runs a child until a random time; returns how many edits it reported.
fn run<T: Target>(folder: &Path, seed: u64, random: &mut Pcg64Mcg) -> usize {
    let flush = ["idle", "interval", "every"][random.gen_range(0..3)];
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args([CHILD, T::NAME, folder.to_str().unwrap(), &seed.to_string(), flush])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let enough = random.gen_range(0..EDITS);
    let mut reported = 0;
    while reported < enough {
        let line = lines.next().expect("the child ended before it was killed").unwrap();
        reported = line.parse().unwrap();
    }
    // So that it does not always end behind a report.
    std::thread::sleep(Duration::from_micros(random.gen_range(0..2000)));
    child.kill().unwrap();
    child.wait().unwrap();
    // What it reported before it was killed, too.
    lines.map_while(Result::ok).filter_map(|line| line.parse().ok()).last().unwrap_or(reported)
}

fn copy_folder(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // A lock of a process that is gone is none.
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
