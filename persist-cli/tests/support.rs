//! A folder with saves, in which commands run.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own for a test.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
    editor: &'static str,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        // This editor replaces the first 1 of each line by a 7.
        Self { folder, editor: "sed -i s/1/7/" }
    }

    pub(crate) fn with_editor(self, editor: &'static str) -> Self {
        Self { editor, ..self }
    }

    /// A folder with copies of fixtures. They are named as `v1/graph.sav`, and lie directly in the folder.
    pub(crate) fn with(fixtures: &[&str]) -> Self {
        let folder = Self::new();
        for fixture in fixtures {
            let name = Path::new(fixture).file_name().expect("a file");
            folder.write(name, &fixture_bytes(fixture));
        }
        folder
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("the folder can be written");
    }

    /// Writes a copy of a file, with one byte changed.
    pub(crate) fn damage(&self, from: &str, to: &str, at: usize) {
        let mut bytes = self.read(from);
        bytes[at] ^= 0xff;
        self.write(to, &bytes);
    }

    /// Writes the first bytes of a file.
    pub(crate) fn cut(&self, from: &str, to: &str, length: usize) {
        self.write(to, &self.read(from)[..length]);
    }

    /// Runs a command, as a shell would that knows only spaces, `'single quotes'`, `< file` and `> /dev/full`.
    pub(crate) fn output(&self, command: &str) -> Output {
        // In quotes these are operators of paths.
        let is_file = |rest: &(&str, &str)| !rest.1.contains('\'');
        let (command, stdin) = match command.rsplit_once(" < ").filter(is_file) {
            Some((command, file)) => (command, Some(self.read(file.trim()))),
            None => (command, None),
        };
        let (command, stdout) = match command.rsplit_once(" > ").filter(is_file) {
            Some((command, file)) => {
                let file = fs::OpenOptions::new().write(true).open(file.trim());
                (command, Stdio::from(file.expect("a file to print to")))
            }
            None => (command, Stdio::piped()),
        };
        let mut child = Command::new(env!("CARGO_BIN_EXE_persist"))
            .args(words(command))
            .current_dir(self.folder.path())
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "SystemRoot"))
            .env("EDITOR", self.editor)
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut to = child.stdin.take().expect("a pipe");
        // The command may end without reading.
        drop(to.write_all(&stdin.unwrap_or_default()));
        drop(to);
        child.wait_with_output().expect("the command ends")
    }

    /// Runs a command and returns its output, then its errors, and its exit code unless that is 0.
    pub(crate) fn run(&self, command: &str) -> String {
        let output = self.output(command);
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let code = output.status.code();
        assert!(code.is_some_and(|code| (0..=2).contains(&code)), "{command}: {code:?}\n{text}");
        if code != Some(0) {
            writeln!(text, "[exit code {}]", code.unwrap_or(-1)).expect("a string takes it");
        }
        text
    }

    /// Runs commands, and returns each with its output.
    pub(crate) fn transcript<'c>(&self, commands: impl IntoIterator<Item = &'c str>) -> String {
        let mut text = String::new();
        for command in commands {
            write!(text, "$ persist {command}\n{}\n", self.run(command))
                .expect("a string takes it");
        }
        text
    }
}

/// The bytes of a fixture, named as `v1/graph.sav`.
pub(crate) fn fixture_bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The words of a command line.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
