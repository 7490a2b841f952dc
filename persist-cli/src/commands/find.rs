//! `persist find`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use persist::__private::read_name;
use persist::Value;
use regex_lite::{Regex, RegexBuilder};

use super::dump::Match;
use crate::condition::is_equal;
use crate::exit::{Failure, Outcome, Result};
use crate::found::{Found, Visit, holders};
use crate::input::{Damage, Save, Source};
use crate::kinds::{check_field, is_key_named};
use crate::output::{BAD, NAME, Out, note};
use crate::path::{Child, Path, Start, Step, beginning};
use crate::pattern::matching;
use crate::shown::short;
use crate::streamed::{ElementSink, Elements, Streamed};
use crate::values::{Hop, is_number, parts};
use crate::world::{self, Object};

/// Find names, texts and numbers; exit code 1 if there are none
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
    /// A part of a text, of a key, or of the name of an object or a variant. A number is equal to numbers, too.
    #[arg(allow_negative_numbers = true)]
    text: String,
    /// The path of the values to search; everything if it is left out.
    path: Option<String>,
    /// Take TEXT as a regular expression.
    #[arg(short, long)]
    regex: bool,
    /// Take capitals and small letters as equal.
    #[arg(short, long)]
    ignore_case: bool,
    /// Take TEXT as bytes in hexadecimal, as 0aff, and search lists of bytes alone.
    #[arg(short, long, conflicts_with_all = ["regex", "ignore_case"])]
    bytes: bool,
    /// Search objects, components and other values of this class alone.
    #[arg(long)]
    class: Option<String>,
    /// Search fields and keys of maps with this name alone, and the lists and maps in them.
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Print the number of values alone.
    #[arg(short, long)]
    count: bool,
    #[command(flatten)]
    damage: Damage,
}

const EXAMPLES: &str = "\
Each line is a path and its value. `get` and `set` take the path.

Examples:
  persist find autumn.sav sword                  texts, keys and names with `sword`
  persist find autumn.sav 250 --field gold       a number, in fields named `gold`
  persist find autumn.sav '^sword [0-9]$' --regex --class Item
  persist find autumn.sav Bob 'Hero[level < 9]'  in what a path leads to: see `persist dump --help`
  persist find town.sav door -i --count
  persist find town.sav 89504e47 --bytes         a PNG in a list of bytes";

/// Characters of a long text that are shown.
const MAX_SHOWN: usize = 120;

/// Bytes that are shown before and after those that are found.
const MAX_BYTES: usize = 16;

/// Characters of them before the first match.
const MAX_LEAD: usize = 40;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let needle = match args.bytes {
        true => Needle::of_bytes(&args.text)?,
        false => Needle::of(&args.text, args.regex, args.ignore_case)?,
    };
    let mut source = Source::open(&args.file)?;
    let (mut save, read) = source.save(&args.damage)?;
    let classes = args.class.as_ref().map(|class| classes(class, &save)).transpose()?;
    let path = match &args.path {
        Some(path) => Path::parse(path, &mut save)?,
        None => everything(classes.as_ref(), &save),
    };
    if let Some(field) = &args.field {
        check_field(field, &mut [&mut save])?;
    }
    let (mut count, is_counted) = (0_u64, args.count);
    let search = Search { needle: &needle, classes, field: args.field.as_deref() };
    if is_counted {
        search.each(&path, &mut save, &mut |_| {
            count += 1;
            Ok(true)
        })?;
        out.count(count)?;
    } else if out.is_json() {
        let matches = Streamed::new(Matches { search, path: &path, save: &mut save, count: 0 });
        matches.result(out.json(&matches))?;
        count = matches.into_elements().count;
    } else {
        search.each(&path, &mut save, &mut |found| {
            count += 1;
            let label = if found.label.is_empty() { "." } else { &*found.label };
            let value = needle.shown(&found.value, out);
            writeln!(out, "{}: {value}", out.styled(NAME, label))?;
            Ok(true)
        })?;
    }
    if count == 0 {
        let (text, file) = (beginning(&args.text), args.file.display());
        match &args.path {
            Some(path) => {
                note(format_args!("`{text}` is not found in {} of {file}", beginning(path)));
            }
            None => note(format_args!("`{text}` is not found in {file}")),
        }
    }
    Ok(Outcome::found(count == 0).and(read))
}

/// Calls `visit` with each value of a save that the command finds without its options.
pub(crate) fn each_found(text: &str, save: &mut Save<'_>, visit: &mut Visit<'_>) -> Result<()> {
    let needle = Needle::of(text, false, false)?;
    let search = Search { needle: &needle, classes: None, field: None };
    search.each(&everything(None, save), save, visit)
}

/// The classes that a name means.
fn classes(name: &str, save: &Save<'_>) -> Result<BTreeSet<String>> {
    let all = save.classes().iter().map(|class| &*class.name).collect();
    matching(name, &all).ok_or_else(|| {
        let name = beginning(name);
        Failure::new(format!("the save has no class {name}; `persist schema` lists its classes"))
    })
}

/// The path of all objects that may have values of some classes, or of all objects.
fn everything(classes: Option<&BTreeSet<String>>, save: &Save<'_>) -> Path {
    let is_of = |name: &String| classes.is_none_or(|classes| classes.contains(name));
    let found = holders(save.classes(), save.classes().iter().map(|it| is_of(&it.name)).collect());
    let found = save.classes().iter().zip(found).filter(|(_, is_found)| *is_found);
    let names = found.map(|(class, _)| class.name.clone()).collect();
    Path { start: Start::Classes(names, None), steps: Vec::new() }
}

/// The text or number that a user searches for.
struct Needle {
    text: String,
    regex: Option<Regex>,
    number: Option<Value>,
    /// Some if only bytes are searched.
    bytes: Option<Vec<u8>>,
}

impl Needle {
    fn of_bytes(text: &str) -> Result<Self> {
        let bytes = match format!("b\"{text}\"").parse() {
            Ok(Value::Bytes(bytes)) if !bytes.is_empty() => Some(bytes),
            _ => {
                let text = beginning(text);
                return Err(Failure::new(format!("`{text}` is no bytes; write them as 0aff")));
            }
        };
        Ok(Self { text: text.to_ascii_lowercase(), regex: None, number: None, bytes })
    }

    fn of(text: &str, is_regex: bool, ignores_case: bool) -> Result<Self> {
        let text = text.to_owned();
        let pattern = match (is_regex, ignores_case) {
            (true, _) => Some(text.clone()),
            (false, true) => Some(regex_lite::escape(&text)),
            // The search for a plain text is much faster.
            (false, false) => None,
        };
        let regex = pattern.map(|pattern| {
            RegexBuilder::new(&pattern).case_insensitive(ignores_case).build().map_err(|error| {
                Failure::new(format!("`{}` is no regular expression: {error}", beginning(&text)))
            })
        });
        let number = text.parse::<Value>().ok().filter(is_number);
        Ok(Self { regex: regex.transpose()?, text, number, bytes: None })
    }

    fn is_in(&self, text: &str) -> bool {
        match (&self.regex, &self.bytes) {
            (_, Some(_)) => false,
            (Some(regex), None) => regex.is_match(text),
            (None, None) => text.contains(&self.text),
        }
    }

    /// Returns where the bytes are that are searched for.
    fn bytes_in(&self, all: &[u8]) -> Option<usize> {
        let bytes = self.bytes.as_deref()?;
        all.windows(bytes.len()).position(|part| part == bytes)
    }

    /// Returns whether a value, without its parts, is searched for.
    fn is_value(&self, value: &Value) -> bool {
        match value {
            Value::Text(text) => self.is_in(text),
            Value::Char(character) => self.is_in(character.encode_utf8(&mut [0; 4])),
            Value::Enum(record) => record.variant().is_some_and(|name| self.is_in(name)),
            Value::Bytes(bytes) => self.bytes_in(bytes).is_some(),
            value if is_number(value) => {
                self.number.as_ref().is_some_and(|number| is_equal(value, number))
            }
            _ => false,
        }
    }

    /// Returns a value on one line, with colours where it is what is searched for.
    fn shown(&self, value: &Value, out: &Out) -> String {
        let style = BAD.bold();
        if let (Value::Bytes(all), Some(bytes)) = (value, &self.bytes)
            && let Some(at) = self.bytes_in(all)
        {
            let hex = |bytes: &[u8]| bytes.iter().map(|it| format!("{it:02x}")).collect::<String>();
            let [start, end] = [at.saturating_sub(MAX_BYTES), at + bytes.len()];
            let rest = (end + MAX_BYTES).min(all.len());
            let dots = |is_cut| if is_cut { ".." } else { "" };
            return format!(
                "b\"{}{}{}{}{}\", at {at} of {} bytes",
                dots(start > 0),
                hex(&all[start..at]),
                out.styled(style, hex(bytes)),
                hex(&all[end..rest]),
                dots(rest < all.len()),
                all.len()
            );
        }
        let Value::Text(text) = value else {
            let shown = short(value);
            return match self.is_value(value) {
                true => out.styled(style, shown).to_string(),
                false => shown,
            };
        };
        let matches = self.matches(text);
        let first = matches.first().map_or(0, |first| first.start);
        let lead = text[..first].char_indices().rev().take(MAX_LEAD).last();
        let start = lead.map_or(first, |(at, _)| at);
        let end =
            text[start..].char_indices().nth(MAX_SHOWN).map_or(text.len(), |(at, _)| start + at);
        let mut line = String::from(if start > 0 { "\".." } else { "\"" });
        let mut at = start;
        for found in matches {
            let found = found.start.clamp(at, end)..found.end.clamp(at, end);
            let [plain, found_text] = [&text[at..found.start], &text[found.clone()]].map(escaped);
            at = found.end;
            // Writing to a string does not fail.
            let _ = write!(line, "{plain}{}", out.styled(style, found_text));
        }
        line.push_str(&escaped(&text[at..end]));
        line.push_str(if end < text.len() { "..\"" } else { "\"" });
        line
    }

    fn matches(&self, text: &str) -> Vec<Range<usize>> {
        let matches = match &self.regex {
            Some(regex) => regex.find_iter(text).map(|found| found.range()).collect(),
            None => text.match_indices(&self.text).map(|(at, it)| at..at + it.len()).collect(),
        };
        let matches: Vec<Range<usize>> = matches;
        matches.into_iter().filter(|found| !found.is_empty()).collect()
    }
}

/// Returns a part of a text as it stands in the text of a value.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// A search, with the values to which it is restricted.
struct Search<'a> {
    needle: &'a Needle,
    /// The classes of the values that are searched; `None` for all.
    classes: Option<BTreeSet<String>>,
    field: Option<&'a str>,
}

/// A value that is searched, with its parts.
struct Node<'v> {
    value: &'v Value,
    /// The hop that leads to it, and the number of hops before that.
    hop: Option<Hop>,
    level: usize,
    key: Option<&'v Value>,
    /// The name of the field that it is in.
    field: Option<&'v str>,
    /// Whether it is in a value of one of the classes that are searched.
    is_in_class: bool,
}

impl Search<'_> {
    /// Calls `visit` with each value that is found, in the order of the save.
    fn each(&self, path: &Path, save: &mut Save<'_>, visit: &mut Visit<'_>) -> Result<()> {
        path.each_head(save, &|_| false, &mut |found, save| self.search(&found, save, visit))
    }

    /// Searches a value. Returns false if no more are to be visited.
    fn search(
        &self,
        found: &Found<'_>,
        save: &mut Save<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        if found.is_world_object() {
            return self.search_object(found, save, visit);
        }
        let Cow::Borrowed(value) = found.value else {
            let is_found = self.is_open() && self.needle.is_value(&found.value);
            return if is_found { visit(found.clone()) } else { Ok(true) };
        };
        let last_field = found.hops.iter().rev().find_map(|hop| match hop {
            Hop::Field(name) => Some(&**name),
            _ => None,
        });
        let is_in_class = self.is_class(found.object.class());
        let mut open =
            vec![Node { value, hop: None, level: 0, key: None, field: last_field, is_in_class }];
        let mut hops = Vec::new();
        while let Some(node) = open.pop() {
            hops.truncate(node.level);
            hops.extend(node.hop);
            let is_match = node.is_in_class
                && self.field.is_none_or(|field| node.field == Some(field))
                && (self.needle.is_value(node.value)
                    || node.key.is_some_and(|key| self.needle.is_value(key)));
            if is_match
                && let Some(part) = found.inside(&hops)
                && !visit(part)?
            {
                return Ok(false);
            }
            if world::record_of(node.value).is_some() {
                if let Some(world) = found.inside(&hops)
                    && !self.search_world(&world, save, visit)?
                {
                    return Ok(false);
                }
                continue;
            }
            let level = hops.len();
            let part = |hop, value, key, field, is_in_class| Node {
                value,
                hop: Some(hop),
                level,
                key,
                field,
                is_in_class,
            };
            let start = open.len();
            match node.value {
                Value::Struct(record) | Value::Enum(record) => {
                    let is_in_class = node.is_in_class || self.is_class(record.class());
                    open.extend(record.fields().map(|(name, value)| {
                        part(Hop::Field(name.into()), value, None, Some(name), is_in_class)
                    }));
                }
                Value::Map(entries) => {
                    open.extend(entries.iter().enumerate().map(|(at, (key, value))| {
                        let named = self.field.filter(|field| is_key_named(key, field));
                        let field = named.or(node.field);
                        part(Hop::Entry(at), value, Some(key), field, node.is_in_class)
                    }));
                }
                value => open.extend(
                    parts(value)
                        .into_iter()
                        .map(|(hop, value)| part(hop, value, None, node.field, node.is_in_class)),
                ),
            }
            open[start..].reverse();
        }
        Ok(true)
    }

    /// Searches the objects and resources of a world.
    fn search_world(
        &self,
        world: &Found<'_>,
        save: &mut Save<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        let steps = [Step::Below(Child::Deep), Step::Component(String::from("*"))];
        for step in &steps {
            let step = std::slice::from_ref(step);
            let mut inner =
                |found: Found<'_>, save: &mut Save<'_>| self.search(&found, save, visit);
            if !world.each_after(step, save, &mut inner)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Searches the name and the components of an object of a world.
    fn search_object(
        &self,
        object: &Found<'_>,
        save: &mut Save<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        let name = Object::of(&object.value).map(|object| read_name(object.name).0);
        let is_searched = self.classes.is_none() && self.field.is_none_or(|field| field == "name");
        if is_searched
            && name.is_some_and(|name| self.needle.is_in(&name))
            && let Some(name) = object.inside(&[Hop::Field("name".into())])
            && !visit(name)?
        {
            return Ok(false);
        }
        let mut inner = |found: Found<'_>, save: &mut Save<'_>| self.search(&found, save, visit);
        object.each_after(&[Step::Component(String::from("*"))], save, &mut inner)
    }

    fn is_class(&self, class: &str) -> bool {
        self.classes.as_ref().is_none_or(|classes| classes.contains(class))
    }

    /// Returns whether all classes and fields are searched.
    fn is_open(&self) -> bool {
        self.classes.is_none() && self.field.is_none()
    }
}

/// The values that are found.
struct Matches<'m, 's> {
    search: Search<'m>,
    path: &'m Path,
    save: &'m mut Save<'s>,
    count: u64,
}

impl Elements for Matches<'_, '_> {
    fn each(&mut self, to: &mut impl ElementSink) -> Result<()> {
        self.search.each(self.path, self.save, &mut |found| {
            self.count += 1;
            Ok(to.put(&Match::of(&found, false)))
        })
    }
}
