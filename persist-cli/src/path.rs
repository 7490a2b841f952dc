//! Paths into saves: `Hero[*].name`, `#17.items[2]`, `World/House/Door:Transform.x`.
//!
//! `docs/reference/command.md` has the whole language.

use std::borrow::Cow;
use std::collections::BTreeSet;

use persist::__private::{read_name, write_name};
use persist::{ObjectId, Value};

use crate::exit::{Failure, Result};
use crate::input::Save;

/// The first word of a path into the worlds of a save, unless a class has that name.
const WORLD: &str = "World";

/// The most characters of a path that a message shows.
const MAX_SHOWN: usize = 200;

/// The most steps of a path.
const MAX_STEPS: usize = 256;

/// A path, for one save.
#[derive(Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) start: Start,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Start {
    /// The value of a save of one value.
    Root,
    Object(ObjectId),
    /// All objects of some classes, or one of them, counted from 0.
    Classes(BTreeSet<String>, Option<usize>),
    /// All worlds, wherever they are.
    Worlds,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Field(String),
    /// `.*` or `[*]`.
    All,
    /// An element, or the value of a key.
    Key(Value),
    /// `::Name`: passes an enum that is at this variant.
    Variant(String),
    /// Objects of a world right below.
    Below(Child),
    /// `:Class`: components of an object, resources of a world.
    Component(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Child {
    /// The text that the save has for its name.
    Named(String),
    Id(u64),
    All,
    /// `**`: at any depth.
    Deep,
}

impl Path {
    /// Parses a path. The classes of the save decide where the name of a class ends.
    pub(crate) fn parse(text: &str, save: &Save<'_>) -> Result<Self> {
        let counted = save.classes().iter().zip(save.by_class());
        let present = counted.filter(|(_, count)| count.records > 0);
        let classes: BTreeSet<&str> = present.map(|(class, _)| &*class.name).collect();
        parse(text, &classes).map_err(|what| {
            let (text, what) = (beginning(text), beginning(&what));
            Failure::new(format!("`{text}` is no path: {what}; `persist dump --help` shows some"))
        })
    }
}

/// The beginning of a long text, for a message.
pub(crate) fn beginning(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]).into(),
        None => text.into(),
    }
}

pub(crate) fn push_name(label: &mut String, name: &str) {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    label.push('.');
    if is_plain {
        label.push_str(name);
    } else {
        label.extend(["`", &escaped(name), "`"]);
    }
}

fn escaped(name: &str) -> String {
    name.escape_debug().to_string().replace('`', "\\`")
}

/// The name of a class as it stands in a path.
fn class_text(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let is_word = !name.is_empty() && name.chars().all(is_plain);
    if is_word && !name.starts_with('.') && !name.contains("..") {
        name.into()
    } else {
        format!("`{}`", escaped(name)).into()
    }
}

/// The name of a class of components, which ends where a field begins.
pub(crate) fn component_text(name: &str) -> Cow<'_, str> {
    if name.contains('.') { format!("`{}`", escaped(name)).into() } else { class_text(name) }
}

/// Writes an object of a world as it stands in a path, by the text that the save has for its name. [`Parser::child`]
/// reads it. A number that the library gave stands outside of the quotes, after a `#`.
pub(crate) fn child_text(text: &str) -> String {
    let (name, number) = read_name(text);
    let is_plain = |c: char| c.is_alphanumeric() || "_- ".contains(c);
    let is_plain = !name.is_empty() && name.chars().all(is_plain);
    let name = if is_plain { name } else { format!("{name:?}").into() };
    if number == 0 { name.into_owned() } else { format!("{name}#{number}") }
}

/// The classes that a name or a pattern with `*` means; `None` if there is none.
pub(crate) fn matching(pattern: &str, classes: &BTreeSet<&str>) -> Option<BTreeSet<String>> {
    let found: BTreeSet<String> = if classes.contains(pattern) {
        [pattern.to_owned()].into()
    } else if pattern.contains('*') {
        classes.iter().filter(|class| fits(pattern, class)).map(|it| (*it).to_owned()).collect()
    } else {
        // The pattern may omit the names of modules or programs.
        let is_last =
            |class: &&&str| class.strip_suffix(pattern).is_some_and(|prefix| prefix.ends_with('.'));
        classes.iter().filter(is_last).map(|it| (*it).to_owned()).collect()
    };
    (!found.is_empty()).then_some(found)
}

/// True if a text fits a pattern in which `*` stands for any characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

type Read<T> = std::result::Result<T, String>;

fn parse(text: &str, classes: &BTreeSet<&str>) -> Read<Path> {
    let mut parser = Parser { text, at: 0 };
    let start = parser.start(classes)?;
    let mut steps = Vec::new();
    while !parser.rest().is_empty() {
        if steps.len() == MAX_STEPS {
            return Err(format!("it has more than {MAX_STEPS} steps"));
        }
        steps.push(parser.step()?);
    }
    Ok(Path { start, steps })
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Takes characters up to one of `ends`, or to the end.
    fn until(&mut self, ends: &[char]) -> &'t str {
        let rest = self.rest();
        let end = rest.find(ends).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn start(&mut self, classes: &BTreeSet<&str>) -> Read<Start> {
        let text = self.text;
        if text.is_empty() {
            return Err(String::from("it is empty"));
        }
        if text == "." {
            self.at = 1;
            return Ok(Start::Root);
        }
        if text.starts_with(['.', '[', '/', ':']) {
            return Ok(Start::Root);
        }
        if self.take("#") {
            let id = self.until(&['.', '[', ':', '/']);
            let object = id.parse().ok().and_then(ObjectId::new);
            return object
                .map(Start::Object)
                .ok_or_else(|| format!("`#{id}` is no id of an object"));
        }
        let found = self.classes(classes);
        if found.is_none() {
            let rest = text.strip_prefix(WORLD);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/'])) {
                self.at = WORLD.len();
                return Ok(Start::Worlds);
            }
        }
        let Some(found) = found else {
            let known: Vec<String> =
                classes.iter().take(8).map(|it| class_text(it).into()).collect();
            let more = if classes.len() > known.len() { ", ..." } else { "" };
            return Err(format!(
                "no object has such a class; there are {}{more}",
                known.join(", ")
            ));
        };
        let mut number = None;
        if self.rest().starts_with('[') && !self.take("[*]") {
            self.at += 1;
            let digits = self.until(&[']']);
            let parsed = digits.parse().map_err(|_| {
                format!("`[{digits}]` after a class is no number, counted from 0, and no `*`")
            });
            number = Some(parsed?);
            self.need("]")?;
        }
        Ok(Start::Classes(found, number))
    }

    /// Returns the classes that the longest name at this place means.
    fn classes(&mut self, classes: &BTreeSet<&str>) -> Option<BTreeSet<String>> {
        if self.rest().starts_with('`') {
            let name = self.quoted('`').ok()?;
            return classes.contains(&*name).then(|| [name].into());
        }
        let text = self.rest();
        let head = &text[..text.find(['[', ':', '/']).unwrap_or(text.len())];
        let dots = head.rmatch_indices('.').map(|(dot, _)| dot);
        for end in std::iter::once(head.len()).chain(dots).filter(|end| *end > 0) {
            if let Some(found) = matching(&head[..end], classes) {
                self.at += end;
                return Some(found);
            }
        }
        None
    }

    fn step(&mut self) -> Read<Step> {
        if self.take("::") {
            return Ok(Step::Variant(self.name()?));
        }
        if self.take("**") || self.rest().is_empty() {
            return Err(String::from("`**` stands only after `/`"));
        }
        if self.take(".") {
            return if self.take("*") { Ok(Step::All) } else { Ok(Step::Field(self.name()?)) };
        }
        if self.take(":") {
            return Ok(Step::Component(self.name()?));
        }
        if self.take("/") {
            return self.child().map(Step::Below);
        }
        if self.take("[*]") {
            return Ok(Step::All);
        }
        if self.take("[") {
            return self.key().map(Step::Key);
        }
        Err(format!("`{}` does not begin with `.`, `[`, `:` or `/`", self.rest()))
    }

    fn child(&mut self) -> Read<Child> {
        if self.take("**") {
            return Ok(Child::Deep);
        }
        if self.take("*") {
            return Ok(Child::All);
        }
        if self.take("#") {
            let id = self.until(&['.', '[', ':', '/']);
            return id.parse().map(Child::Id).map_err(|_| format!("`#{id}` is no id of an object"));
        }
        let (name, number) = if self.rest().starts_with('"') {
            let name = self.quoted('"')?;
            (name, if self.take("#") { Some(self.until(&['.', '[', ':', '/'])) } else { None })
        } else {
            match self.until(&['.', '[', ':', '/']) {
                "" => return Err(String::from("a name of an object is empty")),
                text => match text.split_once('#') {
                    Some((name, number)) => (name.to_owned(), Some(number)),
                    None => (text.to_owned(), None),
                },
            }
        };
        let Some(number) = number else { return Ok(Child::Named(write_name(&name, 0).into())) };
        let is_number = number.starts_with(|c: char| matches!(c, '1'..='9'));
        let text = number.parse().ok().filter(|_| is_number).map(|it| write_name(&name, it));
        match text.filter(|text| child_text(text).ends_with(&format!("#{number}"))) {
            Some(text) => Ok(Child::Named(text.into())),
            None => Err(format!(
                "`#{number}` after the name of an object is no number that the library gives; put a name with `#` into double quotes"
            )),
        }
    }

    /// A name of a field, a variant or a class.
    fn name(&mut self) -> Read<String> {
        if self.rest().starts_with('`') {
            return self.quoted('`');
        }
        match self.until(&['.', '[', ':', '/']) {
            "" => Err(String::from("a name is empty")),
            name => Ok(name.to_owned()),
        }
    }

    /// A name or a text in quotes.
    fn quoted(&mut self, quote: char) -> Read<String> {
        let rest = self.rest();
        let end =
            closing(&rest[1..], quote).ok_or_else(|| format!("`{rest}` has no closing {quote}"))?;
        self.at += end + 2;
        let inner = &rest[1..=end];
        // The library parses the escapes, so the text gets its form.
        let (mut text, mut chars) = (String::from("\""), inner.chars());
        while let Some(c) = chars.next() {
            match (c, if c == '\\' { chars.next() } else { None }) {
                (_, Some('`')) => text.push('`'),
                (_, Some(escaped)) => text.extend([c, escaped]),
                ('"', None) => text.push_str("\\\""),
                (c, None) => text.push(c),
            }
        }
        text.push('"');
        match text.parse() {
            Ok(Value::Text(name)) => Ok(name),
            _ => Err(format!("`{inner}` has an escape that means nothing")),
        }
    }

    /// A key, after its opening bracket, and the closing one.
    fn key(&mut self) -> Read<Value> {
        let rest = self.rest();
        let end = closing(rest, ']').ok_or_else(|| format!("`[{rest}` has no closing bracket"))?;
        self.at += end + 1;
        let key = rest[..end].trim();
        if let Ok(key) = key.parse() {
            return Ok(key);
        }
        let is_word = |c: char| c == '_' || c == '-' || c.is_alphanumeric();
        if key.is_empty() || !key.chars().all(is_word) {
            return Err(format!("`[{key}]` is no key; put a text into quotes"));
        }
        Ok(key.into())
    }

    fn need(&mut self, expected: &str) -> Read<()> {
        if self.take(expected) {
            return Ok(());
        }
        Err(format!("`{expected}` is missing at `{}`", self.rest()))
    }
}

/// Returns the place of a closing quote or bracket that is in no quotes and no brackets.
fn closing(text: &str, close: char) -> Option<usize> {
    let (mut quote, mut depth, mut chars) = (None, 0_usize, text.char_indices());
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (_, '\\') => {
                chars.next();
            }
            (None, c) if c == close && depth == 0 => return Some(at),
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`' | '\'') if close == ']' => quote = Some(c),
            (None, '[' | '(' | '{') if close == ']' => depth += 1,
            (None, ']' | ')' | '}') if close == ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn classes() -> BTreeSet<&'static str> {
        ["Hero", "quest.Hero", "quest.Item", "Vec<u16>", "Game"].into()
    }

    fn read(text: &str) -> Path {
        parse(text, &classes()).unwrap_or_else(|what| panic!("{text}: {what}"))
    }

    fn starts(text: &str) -> Vec<String> {
        match read(text).start {
            Start::Classes(classes, _) => classes.into_iter().collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_longest_name_of_a_class_counts() {
        assert_eq!(starts("Hero.name"), ["Hero"]);
        assert_eq!(starts("quest.Hero.name"), ["quest.Hero"]);
        assert_eq!(read("quest.Hero.name").steps, [Step::Field("name".into())]);
    }

    #[test]
    fn a_class_is_known_by_its_last_name() {
        assert_eq!(starts("Item[0].owner"), ["quest.Item"]);
    }

    #[test]
    fn a_star_stands_for_any_part_of_a_name() {
        assert_eq!(starts("quest.*.name"), ["quest.Hero", "quest.Item"]);
        assert_eq!(starts("*Hero[*]"), ["Hero", "quest.Hero"]);
        assert_eq!(starts("*").len(), 5);
    }

    #[test]
    fn odd_names_of_classes_stand_in_backticks() {
        assert_eq!(starts("`Vec<u16>`[0][3]"), ["Vec<u16>"]);
        assert_eq!(read("`Vec<u16>`[0][3]").steps, [Step::Key(Value::I64(3))]);
    }

    #[test]
    fn steps_are_fields_keys_variants_and_stars() {
        let steps = read("#17.items[2]::Some.*[*][Bob][\"a]b\"][-5i16].`odd.name`").steps;
        let expected = [
            Step::Field("items".into()),
            Step::Key(Value::I64(2)),
            Step::Variant("Some".into()),
            Step::All,
            Step::All,
            Step::Key("Bob".into()),
            Step::Key("a]b".into()),
            Step::Key(Value::I16(-5)),
            Step::Field("odd.name".into()),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn worlds_have_objects_by_name_and_components_by_class() {
        let path = read("World/House/\"a/b\"/**:Transform.x");
        let expected = [
            Step::Below(Child::Named("House".into())),
            Step::Below(Child::Named("a/b".into())),
            Step::Below(Child::Deep),
            Step::Component("Transform".into()),
            Step::Field("x".into()),
        ];
        assert_eq!((path.start, &path.steps[..]), (Start::Worlds, &expected[..]));
        assert_eq!(read("World/#5:Bag").steps[0], Step::Below(Child::Id(5)));
    }

    /// Names that a program may give to its objects, classes and fields, and that look like something else.
    const ODD: [&str; 36] = [
        "",
        " ",
        "#",
        "#5",
        "Goblin",
        "Goblin#1",
        "Goblin##1",
        "Goblin#01",
        "Goblin1",
        "/",
        "a/b",
        ".",
        "..",
        "*",
        "**",
        "a*",
        ":",
        "::A",
        "[0]",
        "[*]",
        "\"",
        "\"a\"#1",
        "`",
        "a`b",
        "'",
        "\\",
        "\\\"",
        "\n",
        "\0",
        "\u{7f}",
        "\u{1f}",
        "\u{1f}1",
        "a\u{1f}1",
        "a\u{1f}\u{1f}1",
        "é\u{301}",
        "\u{202e}剣",
    ];

    #[test]
    fn every_name_is_read_as_it_is_written() {
        for name in ODD {
            for number in [0, 1, 7, 999_999_999] {
                let text = write_name(name, number);
                assert_eq!(read_name(&text), (name.into(), number), "{text:?}");
                if text.is_empty() {
                    continue;
                }
                let path = format!("World/a/{}:Bag.x", child_text(&text));
                let step = &read(&path).steps[1];
                assert_eq!(*step, Step::Below(Child::Named(text.into())), "{path}");
            }
            let mut path = format!("World:{}", component_text(name));
            push_name(&mut path, name);
            let expected = [Step::Component(name.into()), Step::Field(name.into())];
            assert_eq!(read(&path).steps, expected, "{path}");
            let classes = [name, "a", "b/c"].into();
            let path = parse(&format!("{}.x", class_text(name)), &classes).map(|path| path.start);
            assert_eq!(path, Ok(Start::Classes([name.to_owned()].into(), None)), "{name}");
        }
    }

    #[test]
    fn what_is_no_path_says_why() {
        let texts = [
            "",
            "#",
            "#0",
            "None.x",
            "Hero[x]",
            "Hero[0",
            "Hero..x",
            "Hero.a[]",
            "Hero.a[",
            "#1/",
            "World",
            "#1/a#",
            "#1/a#b",
            "#1/a#01",
            "#1/a#0",
            "#1/a#1#1",
            "#1/a#1000000000",
            "#1/\"a\"#",
            "#1/\"a\"b",
        ];
        let mut said = String::new();
        for text in texts {
            let result = parse(text, &classes());
            let what = result.map_or_else(|what| what, |path| format!("{path:?}"));
            writeln!(said, "{text:10} {what}").expect("a string takes it");
        }
        insta::assert_snapshot!(said);
    }

    #[test]
    fn no_text_panics() {
        let pieces = [
            "Hero", "#1", ".", "[", "]", "*", "::", ":", "/", "`", "\"", "\\", "é", "1", "World",
            "'",
        ];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..state % 9 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(pieces[(state >> 60) as usize]);
            }
            state = state.wrapping_add(1);
            drop(parse(&text, &classes()));
        }
    }
}
