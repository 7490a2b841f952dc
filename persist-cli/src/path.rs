//! Paths into saves: `Hero[*].name`, `#17.items[2]`, `World/House/Door:Transform.x`.
//!
//! `docs/reference/command.md` has the whole language.

use std::borrow::Cow;
use std::collections::BTreeSet;

use persist::__private::write_name;
pub(crate) use persist::debug::label::{child_text, class_text, component_text, push_name};
use persist::{ObjectId, Value};

use crate::condition::{
    Comparison, Condition, OPERATORS, Slice, closing, find_bare, is_condition, split_bare,
};
use crate::exit::{Failure, Result};
use crate::input::Save;
use crate::kinds;
use crate::pattern::matching;

/// The first word of a path into the worlds of a save, unless a class has that name.
const WORLD: &str = "World";

/// The most characters of a path that a message shows.
const MAX_SHOWN: usize = 200;

/// The most steps of a path, with those in its conditions. A walk recurses for each of them.
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
    /// Objects of some classes, or some of them, counted from 0.
    Classes(BTreeSet<String>, Option<Slice>),
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
    /// Some elements of a list.
    Slice(Slice),
    /// Elements of a list or map, or a value itself, for which a condition holds.
    Where(Condition),
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
    pub(crate) fn parse(text: &str, save: &mut Save<'_>) -> Result<Self> {
        let (mut present, mut other) = (BTreeSet::new(), BTreeSet::new());
        for (class, count) in save.classes().iter().zip(save.by_class()) {
            if count.records > 0 { &mut present } else { &mut other }.insert(&*class.name);
        }
        let what = match parse(text, &present) {
            Ok(path) => {
                let checked = kinds::check(&path, save);
                return checked
                    .map(|()| path)
                    .map_err(|what| Failure::new(format!("in `{}`: {what}", beginning(text))));
            }
            Err(what) => what,
        };
        let mut parser = Parser { text, at: 0, steps: 0 };
        let is_other = parser.classes(&present).is_none() && parser.classes(&other).is_some();
        let inner = if is_other { in_world(text, parser.at, save) } else { None };
        let what = match inner {
            Some(path) => format!("no object has such a class; in the world there is {path}"),
            None => format!("{what}; `persist dump --help` shows some"),
        };
        Err(Failure::new(format!("`{}` is no path: {}", beginning(text), beginning(&what))))
    }

    /// Returns the path without its last step, and the key in that step; `None` if the step is no key.
    pub(crate) fn of_key(&self) -> Option<(Self, &Value)> {
        let (last, steps) = self.steps.split_last()?;
        let Step::Key(key) = last else { return None };
        Some((Self { start: self.start.clone(), steps: steps.to_vec() }, key))
    }
}

/// Returns a path to the components or resources of a class, which a path names up to `end` as if they were objects.
fn in_world(text: &str, end: usize, save: &mut Save<'_>) -> Option<String> {
    let (class, rest) = text.split_at(end);
    let class = class.trim_matches('`');
    for rest in [rest, ""] {
        for start in ["/**:", ":", "World/**:", "World:"] {
            let text = format!("{start}{}{rest}", component_text(class));
            let path = parse(&text, &BTreeSet::new()).ok()?;
            let mut is_found = false;
            // Another error than that of the path is of no use here.
            let _ = path.each_head(save, &|_| false, &mut |_, _| {
                is_found = true;
                Ok(false)
            });
            if is_found {
                return Some(text);
            }
        }
    }
    None
}

/// The beginning of a long text, for a message.
pub(crate) fn beginning(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]).into(),
        None => text.into(),
    }
}

type Read<T> = std::result::Result<T, String>;

fn parse(text: &str, classes: &BTreeSet<&str>) -> Read<Path> {
    let mut parser = Parser { text, at: 0, steps: 0 };
    let start = parser.start(classes)?;
    let steps = parser.steps()?;
    Ok(Path { start, steps })
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// The number of steps so far.
    steps: usize,
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
        let some = if self.take("[*]") { None } else { self.some_of_class()? };
        Ok(Start::Classes(found, some))
    }

    /// Reads which objects of a class are meant: a number or a slice. A condition is a step of its own.
    fn some_of_class(&mut self) -> Read<Option<Slice>> {
        let start = self.at;
        if !self.take("[") {
            return Ok(None);
        }
        let inner = self.bracketed()?;
        let some = inner.parse().map(Slice::of_index).ok().or_else(|| Slice::parse(inner));
        if some.is_none() && find_bare(inner, &["=", "<", ">", "~"]).is_some() {
            self.at = start;
            return Ok(None);
        }
        some.map(Some).ok_or_else(|| {
            format!(
                "`[{inner}]` after a class is no number, counted from 0, no slice, no condition and no `*`"
            )
        })
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

    /// Reads steps up to the end.
    fn steps(&mut self) -> Read<Vec<Step>> {
        let mut steps = Vec::new();
        while !self.rest().is_empty() {
            steps.push(self.step()?);
        }
        Ok(steps)
    }

    fn step(&mut self) -> Read<Step> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(format!("it has more than {MAX_STEPS} steps"));
        }
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
            let inner = self.bracketed()?;
            return match Slice::parse(inner) {
                Some(slice) => Ok(Step::Slice(slice)),
                None if is_condition(inner) => self.condition(inner).map(Step::Where),
                None => key(inner).map(Step::Key),
            };
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

    /// Takes the text after an opening bracket, and the closing one.
    fn bracketed(&mut self) -> Read<&'t str> {
        let rest = self.rest();
        let (end, _) =
            find_bare(rest, &["]"]).ok_or_else(|| format!("`[{rest}` has no closing bracket"))?;
        self.at += end + 1;
        Ok(rest[..end].trim())
    }

    fn condition(&mut self, text: &str) -> Read<Condition> {
        let any = split_bare(text, "||").into_iter();
        let any = any.map(|all| {
            split_bare(all, "&&").into_iter().map(|one| self.comparison(one.trim())).collect()
        });
        Ok(Condition { any: any.collect::<Read<_>>()? })
    }

    /// A comparison: a path from the value that is tested, an operator and a value.
    fn comparison(&mut self, text: &str) -> Read<Comparison> {
        let Some((at, found)) = find_bare(text, &OPERATORS.map(|(text, _)| text)) else {
            return Err(format!(
                "`{text}` compares nothing; write as `[level < 5]`, with ==, !=, <, <=, >, >= or ~"
            ));
        };
        let (left, right) = (text[..at].trim(), text[at + found.len()..].trim());
        let operator = OPERATORS.iter().find(|(text, _)| *text == found).map(|(_, it)| *it);
        let operator = operator.ok_or_else(|| format!("`{found}` is no operator"))?;
        let is_operator = |c: char| "=!<>~".contains(c);
        if left.ends_with(is_operator) || right.starts_with(is_operator) {
            let start = left.trim_end_matches(is_operator).len();
            let end = right.len() - right.trim_start_matches(is_operator).len();
            return Err(format!(
                "`{}{found}{}` is no operator; there are ==, !=, <, <=, >, >= and ~",
                &left[start..],
                &right[..end]
            ));
        }
        if left.is_empty() {
            return Err(format!(
                "nothing is before `{found}`; write a field, or `.` for the value"
            ));
        }
        let mut parser = Parser { text: left, at: 0, steps: self.steps };
        let mut steps = Vec::new();
        if left == "." {
            parser.at = 1;
        } else if !left.starts_with(['.', '[', ':', '/']) {
            steps.push(Step::Field(parser.name()?.trim_end().to_owned()));
            parser.steps += 1;
        }
        steps.extend(parser.steps()?);
        self.steps = parser.steps;
        let right = right.parse().or_else(|_| key(right)).map_err(|_| {
            format!(
                "`{right}` after `{found}` is no value; put a text into double quotes, and `&&` or `||` between comparisons"
            )
        })?;
        Ok(Comparison { text: left.to_owned(), left: steps, operator, right })
    }
}

/// A key, without its brackets.
fn key(text: &str) -> Read<Value> {
    if let Ok(key) = text.parse() {
        return Ok(key);
    }
    let is_word = |c: char| c == '_' || c == '-' || c.is_alphanumeric();
    if !text.is_empty() && text.chars().all(is_word) {
        return Ok(text.into());
    }
    if text == "+" {
        return Err(String::from("`[+]` is no key; to append to a list, set the whole list"));
    }
    Err(match find_bare(text, &["="]) {
        Some(_) => {
            format!("`[{text}]` is no condition; values are compared by ==, !=, <, <=, >, >= and ~")
        }
        None => format!("`[{text}]` is no key; put a text into quotes"),
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use persist::__private::read_name;

    use super::*;
    use crate::input::Source;

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
            "Hero[name = x]",
            "Hero.a[b = 3]",
            "Hero.a[== 3]",
            "Hero.a[b ==]",
            "Hero.a[b == two words]",
            "Hero.a[b == 1 &&]",
            "Hero.a[b. == 1]",
            "Hero.a[b == 1",
            "Hero.a[b =~ 1]",
            "Hero.a[b <> 1]",
            "Hero.a[b === 1]",
            "Hero.a[+]",
            "Hero[0:x]",
            "Hero[99999999999999999999]",
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
    fn conditions_have_paths_operators_and_values() {
        let condition = |text: &str| match read(text).steps.pop() {
            Some(Step::Where(condition)) => condition,
            step => panic!("{text}: {step:?}"),
        };
        let found = condition("quest.Item[name == \"a]b\" && pos[0].x<-1.5 || :Mood != Calm]");
        let shown: Vec<Vec<String>> = found
            .any
            .iter()
            .map(|all| {
                all.iter()
                    .map(|it| format!("{:?} {:?} {}", it.left, it.operator, it.right))
                    .collect()
            })
            .collect();
        insta::assert_debug_snapshot!(shown);
        let nested = condition("#1[. == 3]");
        assert_eq!((nested.any[0][0].left.len(), nested.any.len()), (0, 1));
        assert!(matches!(read("Hero[-1]").start, Start::Classes(_, Some(_))));
        assert!(matches!(read("Hero[1:]").start, Start::Classes(_, Some(_))));
        assert_eq!(read("#1.a[1:-1]").steps[1], Step::Slice(Slice { from: Some(1), to: Some(-1) }));
    }

    #[test]
    fn nested_conditions_have_a_bound() {
        let nested = |levels: usize| {
            let path = format!("#1{}a{}", "[a".repeat(levels), " == 1]".repeat(levels));
            parse(&path, &classes())
        };
        assert!(nested(100).is_ok());
        for levels in [200, 5_000] {
            let what = nested(levels).err();
            assert_eq!(what, Some(format!("it has more than {MAX_STEPS} steps")));
        }
    }

    /// Paths with all parts that there are.
    const GOOD: [&str; 16] = [
        "Hero[*].items[2].count",
        "#1.rivals[\"Ada herself\"].level",
        "#1.pets[-2:].hp",
        "#1.pets[hp >= 3 && . != none].hp",
        "Hero[level > 3 || name == \"Bob\"][sword.owner.name == Ada].state::Fighting.1",
        "*[name != x].*",
        "quest.*[-1].pets[0:1]",
        "Hero[pets[hp < 5].hp > 1].name",
        "World/\"a/b\"#2/**[:Health.current<5]:`town.Bag`.by_day[-1]",
        "/**:*[x == 1.5]",
        ".list[. > 1e3]",
        "[0:3][1]",
        "Hero[name ~ \"d\" && sword.name~t].pets[*].target.state::Idle",
        "Hero[*].last_seen[-5].friend[hp < 3].name",
        ".map[*][. ~ 'x']",
        "/**[name ~ oo]:*.x",
    ];

    /// Random numbers that are the same in each run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap_or(0) % bound
        }

        /// A text of random bytes, or a path that a few changes may have spoiled.
        fn path(&mut self) -> String {
            const PIECES: [&str; 25] = [
                "Hero", "#1", ".", "[", "]", "*", "::", ":", "/", "`", "\"", "\\", "é", "1",
                "World", "'", "==", "<", "!=", "&&", "||", "-", " ", "{", "~",
            ];
            if self.below(4) == 0 {
                let bytes = (0..self.below(40)).map(|_| u8::try_from(self.below(256)).unwrap_or(0));
                return String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned();
            }
            let mut path: Vec<char> = GOOD[self.below(GOOD.len())].chars().collect();
            for _ in 0..self.below(6) {
                let at = self.below(path.len() + 1);
                let end = (at + self.below(5)).min(path.len());
                let new: Vec<char> = match self.below(3) {
                    0 => PIECES[self.below(PIECES.len())].chars().collect(),
                    1 => path[self.below(path.len() + 1)..].to_vec(),
                    _ => Vec::new(),
                };
                path.splice(at..end, new);
                path.truncate(300);
            }
            path.into_iter().collect()
        }
    }

    #[test]
    fn no_text_panics() {
        let mut random = Random(1);
        let mut good = 0;
        for _ in 0..50_000 {
            good += usize::from(parse(&random.path(), &classes()).is_ok());
        }
        assert!(good > 5_000, "{good} are paths");
    }

    fn fixture(name: &str) -> Source {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        Source::open(&folder.join(name)).expect("a fixture")
    }

    #[test]
    fn paths_that_are_refused_lead_nowhere() {
        let mut random = Random(11);
        let mut refused = 0;
        for save in ["v1/graph.sav", "v1/values.sav", "journals/saved.sav"] {
            let mut source = fixture(save);
            let mut save = source.whole().expect("a whole save");
            let classes = save.classes().to_vec();
            let classes = classes.iter().map(|class| &*class.name).collect();
            for _ in 0..6_000 {
                let text = random.path();
                // Where values are not alike, `!=` holds, and `||` may hold for another reason.
                if text.contains("!=") || text.contains("||") {
                    continue;
                }
                let Ok(path) = parse(&text, &classes) else { continue };
                let Err(what) = kinds::check(&path, &save) else { continue };
                refused += 1;
                let walked = path.each(&mut save, &mut |found| {
                    panic!("{text} leads to {}, but: {what}", found.label);
                });
                walked.unwrap_or_else(|failure| panic!("{text}: {failure}"));
            }
        }
        assert!(refused > 500, "{refused} are refused");
    }

    #[test]
    fn no_path_panics_in_a_save() {
        let mut random = Random(7);
        for save in ["v1/graph.sav", "v1/values.sav", "journals/saved.sav"] {
            let mut source = fixture(save);
            let mut save = source.whole().expect("a whole save");
            for _ in 0..3_000 {
                let text = random.path();
                let Ok(path) = Path::parse(&text, &mut save) else { continue };
                let mut left = 100;
                let walked = path.each(&mut save, &mut |found| {
                    assert!(!found.label.contains('\n') || text.contains('\n'), "{text}");
                    left -= 1;
                    Ok(left > 0)
                });
                walked.unwrap_or_else(|failure| panic!("{text}: {failure}"));
                path.missing(&text, &mut save);
            }
        }
    }
}
