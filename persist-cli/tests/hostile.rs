//! Malicious saves: the command ends with an exit code, and never panics.

use crate::game;
use crate::support::{Folder, fixture_bytes};

/// The commands, with `FILE` for the save.
const COMMANDS: [&str; 20] = [
    "find FILE 1 --json",
    "find FILE o -i",
    "get FILE '*[name != x && . != none].*[0:-1]'",
    "info FILE",
    "verify FILE --json",
    "stats FILE --depth 9",
    "schema FILE --rust",
    "schema FILE --json-schema",
    "dump FILE --follow",
    "get FILE '*.*' --json",
    "get FILE World/**:*.*",
    "diff FILE good.sav",
    "diff good.sav FILE --by name --json",
    "convert FILE --to json",
    "convert FILE --to csv -o tables --force",
    "repair FILE -o mended.sav --force",
    "merge good.sav FILE good.sav --theirs -o merged.sav --force",
    "graph FILE",
    "graph FILE --dot",
    "report FILE --diff good.sav --by name",
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }
}

/// Changes or cuts some bytes.
fn spoil(save: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(save.len());
        match random.below(4) {
            0 => save[at] ^= 1 << random.below(8),
            1 => save[at] = [0, 1, 0x7f, 0xff, 0xf8, 0x1e][random.below(6)],
            2 => {
                let end = (at + random.below(16)).min(save.len());
                save.drain(at..end);
            }
            _ => {
                let end = (at + random.below(16)).min(save.len());
                let copy = save[at..end].to_vec();
                save.splice(at..at, copy);
            }
        }
        if save.is_empty() {
            return;
        }
    }
}

/// Makes the checksums and the lengths of a save of blocks right again, so that what is inside is read.
fn seal(save: &mut Vec<u8>) {
    let length = |save: &[u8], at: usize| {
        save.get(at..at + 4).map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]]) as usize)
    };
    let put = |save: &mut Vec<u8>, start: usize, end: usize| {
        let crc = crc32fast::hash(&save[start..end]);
        save[end..end + 4].copy_from_slice(&crc.to_le_bytes());
    };
    let Some(header) = length(save, 12).map(|length| length + 16) else { return };
    if header + 4 > save.len() {
        return;
    }
    put(save, 0, header);
    let mut at = header + 4;
    // The bytes that are left before the trailer are the last block.
    while at + 29 + 9 < save.len() && save[at] != 0x7f {
        let rest = save.len() - 29 - 4 - 5 - at;
        let content = length(save, at + 1).unwrap_or(0).min(rest);
        let content = if save[at] == 4 || content + 9 < rest { content } else { rest };
        let bytes = u32::try_from(content).unwrap_or(0).to_le_bytes();
        save[at + 1..at + 5].copy_from_slice(&bytes);
        put(save, at, at + 5 + content);
        at += 5 + content + 4;
    }
    if at + 29 <= save.len() {
        save.truncate(at + 29);
        save[at] = 0x7f;
        let whole = (save.len() as u64).to_le_bytes();
        save[at + 17..at + 25].copy_from_slice(&whole);
        put(save, at, at + 25);
    }
}

#[test]
fn spoiled_saves_end_every_command_with_an_exit_code() {
    let rounds = if std::env::var_os("PERSIST_LONG_TESTS").is_some() { 400 } else { 5 };
    let folder = Folder::new();
    let town = game::town().expect("a town");
    let fixtures = ["v1/graph.sav", "v1/pointers.sav", "evolution/v5.sav", "compressed/lz4.sav"];
    let mut saves: Vec<Vec<u8>> = fixtures.iter().map(|name| fixture_bytes(name)).collect();
    saves.extend([town.clone(), fixture_bytes("v1/values.sav"), game::game().expect("a game")]);
    folder.write("good.sav", &town);
    let mut random = Random(7);
    let mut whole = 0;
    for round in 0..rounds {
        for (number, save) in saves.iter().enumerate() {
            let mut save = save.clone();
            spoil(&mut save, &mut random);
            if random.below(4) > 0 {
                seal(&mut save);
            }
            folder.write("spoiled.sav", &save);
            // Each save is given to some of the commands, in turn.
            for command in COMMANDS.iter().skip((round + number) % 3).step_by(3) {
                // It panics unless the exit code is one of ours.
                let said = folder.run(&command.replace("FILE", "spoiled.sav"));
                assert!(!said.contains("panicked"), "{command}: {said}");
            }
            whole += usize::from(folder.run("info spoiled.sav").contains("objects"));
        }
    }
    assert!(whole > 0, "some of them are read");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    use std::io::Read;
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    let mut child = Command::new(env!("CARGO_BIN_EXE_persist"))
        .args(["dump", "quest.sav"])
        .current_dir(folder.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut [0; 10]).expect("ten bytes");
    drop(stdout);
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn nothing_of_a_save_steers_the_terminal() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.run("convert graph.sav -o graph.json");
    let text = String::from_utf8(folder.read("graph.json")).expect("text");
    let text = text.replace("\"Quest\"", r#""Q\u001b[2J\nobjects 99\u009b\u202e""#);
    // In the text of the class, and as the key of the value.
    let text = text.replace(r#"\"spare\""#, r#"\"sp\\u{1b}[5m\\nare\""#);
    let text = text.replace(r#""spare":"#, r#""sp\u001b[5m\nare":"#);
    let text = text.replace("Sting", r"St\u001b[8ming");
    folder.write("graph.json", text.as_bytes());
    let name = "a\u{1b}[31m\nb.sav";
    assert_eq!(folder.run(&format!("convert graph.json -o '{name}'")), "");
    let mut shown = String::new();
    for command in
        ["info", "dump", "schema", "graph", "stats --depth 3", "verify", "diff graph.sav"]
    {
        let plain = folder.run(&format!("{command} '{name}'"));
        assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
        let coloured = folder.run(&format!("{command} '{name}' --color always"));
        for sequence in ["\u{1b}[2J", "\u{1b}[5m", "\u{1b}[8m", "\u{1b}[31m\n"] {
            assert!(!coloured.contains(sequence), "{coloured:?}");
        }
        shown.push_str(&plain);
    }
    let found = folder.run(&format!("find '{name}' '' --color always"));
    assert!(found.contains("\\u{1b}[8ming"), "{found}");
    assert!(!found.contains("\u{1b}[8m"), "{found:?}");
    insta::assert_snapshot!(shown);
}
