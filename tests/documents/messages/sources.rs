//! Reads the sentences that the library can say out of its sources: each string literal of two words or more.

use std::fs;
use std::path::{Path, PathBuf};

/// A string literal of the library.
pub(crate) struct Sentence {
    /// Its file, from `persist/src` or `persist-tools/src`.
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The text around its placeholders, in order, with what the function that takes it puts before.
    pub(crate) pieces: Vec<String>,
}

/// Macros whose first text has placeholders.
const TEMPLATES: [&str; 6] = ["format!", "write!", "writeln!", "format_args!", "error!", "bail!"];

/// What a panic says is no error.
const PANICS: [&str; 9] = [
    "panic!",
    "unreachable!",
    "assert!",
    "assert_eq!",
    "assert_ne!",
    "debug_assert!",
    "debug_assert_eq!",
    "debug_assert_ne!",
    "expect",
];

/// Functions of the library that put a text before their argument.
const BEFORE: [(&str, &str, &str); 7] = [
    ("", "io", "cannot "),
    ("", "of_reading", "cannot read "),
    ("", "expected", "expected "),
    ("format/reader.rs", "damaged", "the save is damaged: "),
    ("format/definition.rs", "rule", "a definition is malformed ("),
    ("history/", "wrong", "the journal has "),
    ("journal/", "wrong", "the journal has "),
];

impl Sentence {
    /// Where it stands and what it is, for a report.
    pub(crate) fn report(&self) -> String {
        format!("{}:{}: {:?}", self.file, self.line, self.text)
    }

    fn new(file: &str, line: usize, text: String, calls: &[String]) -> Self {
        let function = calls.last().map_or("", String::as_str);
        let mut pieces =
            if TEMPLATES.contains(&function) { fixed(&text) } else { vec![text.clone()] };
        // Snapshots are compared line by line.
        if let Some(at) = pieces.iter().position(|piece| piece.trim_end().contains('\n')) {
            pieces.truncate(at + 1);
            let end = pieces[at].find('\n').unwrap_or_default();
            pieces[at].truncate(end);
        }
        pieces.iter_mut().for_each(|piece| *piece = piece.replace('\n', ""));
        pieces.retain(|piece| !piece.is_empty());
        let before = BEFORE.iter().find(|(folder, name, _)| {
            file.starts_with(folder) && calls.iter().rev().take(2).any(|call| call == name)
        });
        if let Some((_, _, before)) = before {
            pieces.insert(0, (*before).to_owned());
        }
        Self { file: file.to_owned(), line, text, pieces }
    }
}

/// Every sentence of `persist/src` and `persist-tools/src`.
pub(crate) fn sentences() -> Vec<Sentence> {
    let mut all = Vec::new();
    for root in ["../persist/src", "../persist-tools/src"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
        let mut files = Vec::new();
        files_in(&root, "rs", &mut files);
        for path in files {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let source = fs::read_to_string(&path).unwrap();
            Scanner { rest: &source, source: &source, calls: Vec::new(), last: String::new() }
                .sentences(&name, &mut all);
        }
    }
    all
}

/// Adds the files below `folder` whose names end with `extension`, in order.
pub(crate) fn files_in(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_in(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}

/// The text of a template around its placeholders.
fn fixed(template: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '{' | '}') && chars.peek() == Some(&c) {
            chars.next();
        } else if c == '{' {
            chars.by_ref().find(|c| *c == '}');
            pieces.push(String::new());
            continue;
        }
        pieces.last_mut().unwrap().push(c);
    }
    pieces
}

/// Reads Rust as far as the literals in it and the calls around them need.
struct Scanner<'a> {
    source: &'a str,
    rest: &'a str,
    /// What stands before each bracket that is open: the name of a function or macro, or a sign.
    calls: Vec<String>,
    last: String,
}

impl<'a> Scanner<'a> {
    fn sentences(mut self, file: &str, all: &mut Vec<Sentence>) {
        while !self.rest.is_empty() {
            let start = self.source.len() - self.rest.len();
            let Some(text) = self.next() else { continue };
            let is_said = !self.calls.iter().any(|call| call == "#" || PANICS.contains(&&**call));
            let line = 1 + self.source[..start].matches('\n').count();
            let sentence = Sentence::new(file, line, text, &self.calls);
            let fixed = sentence.pieces.join(" ");
            let words = fixed.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
            if is_said && words.count() >= 2 {
                all.push(sentence);
            }
        }
    }

    /// Takes one token, and returns its text if it is a string.
    fn next(&mut self) -> Option<String> {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()));
            return None;
        }
        if rest.starts_with("/*") {
            self.take(rest.find("*/").unwrap() + 2);
            return None;
        }
        let prefix = rest.find(|c| c != 'b' && c != 'r').unwrap_or(rest.len());
        let hashes = rest[prefix..].find(|c| c != '#').unwrap_or(0);
        let is_raw = rest[..prefix].ends_with('r');
        if rest[prefix + hashes..].starts_with('"') && (is_raw || hashes == 0) {
            let text = self.string(prefix + hashes + 1, is_raw.then_some(hashes));
            // Bytes are no text.
            return Some(text).filter(|_| !rest.starts_with('b'));
        }
        let first = rest.chars().next().unwrap();
        if first == '\'' {
            let second = rest[1..].chars().next().unwrap();
            let len = if second == '\\' {
                2 + rest[2..].chars().next().unwrap().len_utf8()
            } else {
                1 + second.len_utf8()
            };
            // Else it is a lifetime.
            let closing = rest[len..].find('\'').filter(|at| *at == 0 || second == '\\');
            self.take(closing.map_or(1, |at| len + at + 1));
            return None;
        }
        let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if name > 0 {
            let is_macro = rest[name..].starts_with('!') && !rest[name..].starts_with("!=");
            let len = name + usize::from(is_macro);
            rest[..len].clone_into(&mut self.last);
            self.take(len);
            return None;
        }
        match first {
            '(' | '[' | '{' => {
                let call = if first == '(' || self.last.ends_with(['!', '#']) {
                    std::mem::take(&mut self.last)
                } else {
                    String::new()
                };
                self.calls.push(call);
            }
            ')' | ']' | '}' => {
                self.calls.pop();
                self.last.clear();
            }
            '!' if self.last == "#" => {}
            c if c.is_whitespace() => {}
            c => self.last = c.to_string(),
        }
        self.take(first.len_utf8());
        None
    }

    /// Takes a string whose text begins at `start`; `raw` is the number of `#` of a raw one.
    fn string(&mut self, start: usize, raw: Option<usize>) -> String {
        let rest = &self.rest[start..];
        if let Some(hashes) = raw {
            let end = rest.find(&format!("\"{}", "#".repeat(hashes))).unwrap();
            self.take(start + end + 1 + hashes);
            return rest[..end].to_owned();
        }
        let (mut text, mut at) = (String::new(), 0);
        loop {
            let c = rest[at..].chars().next().unwrap();
            at += c.len_utf8();
            if c == '"' {
                self.take(start + at);
                return text;
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            let escape = rest[at..].chars().next().unwrap();
            at += escape.len_utf8();
            match escape {
                // The text goes on at the next line's first sign.
                '\n' => at += rest[at..].find(|c: char| !c.is_whitespace()).unwrap(),
                'n' => text.push('\n'),
                c => text.push(c),
            }
        }
    }

    fn take(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}
