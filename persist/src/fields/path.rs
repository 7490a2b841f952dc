//! [`FieldPath`]: paths of fields, and their text.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::value::{NameOf, first_name, first_value, write_name};
use crate::{Error, ErrorKind, Result, Value};

/// The path of a field: the class of a component and the steps from there, as in `Transform:position.x`.
///
/// | text | leads to |
/// | --- | --- |
/// | `Transform` | the whole component |
/// | `Transform:position.x` | a field of a struct, or of the variant that an enum has at the time |
/// | `Bag:items[3].count` | an element of a list, array or tuple; of a tuple also `.3` |
/// | `Bag:prices["sword"]` | the value of a key; a key of one word needs no quotes |
/// | ``Mod:`hit.points` `` | a name with a dot, a colon or a bracket in it |
///
/// The names in a path are the names in saves. A colon ends the name of the class, which may contain dots and `::`.
/// Options, boxes, cells and `transparent` types need no step.
///
/// [`field!`](crate::field!) creates a path that the compiler checks. A path is parsed once, and cloning it is as cheap
/// as cloning an `Arc`. A method with a parameter of type `impl IntoFieldPath` accepts a `FieldPath`, a reference to
/// one, or the text.
///
/// # Example
///
/// ```
/// use persist::FieldPath;
///
/// let path: FieldPath = "Bag:items[3].count".parse()?;
/// assert_eq!(path.class(), "Bag");
/// assert_eq!(path, FieldPath::new("Bag").field("items").at(3).field("count"));
/// assert_eq!(path.to_string(), "Bag:items[3].count");
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FieldPath(Arc<PathData>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct PathData {
    class: Cow<'static, str>,
    steps: Vec<PathStep>,
    known: LastUse,
}

/// A cache of where the path leads in the world that it was last used with. The high half is the number of the world.
/// The low half is the number that the world assigned to the path, plus 1. Comparisons of paths ignore the cache.
#[derive(Default)]
struct LastUse(AtomicU64);

impl Clone for LastUse {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LastUse {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastUse {}

impl Hash for LastUse {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A step of a path, from a value to a part of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// The step to a field of this name.
    Field(Cow<'static, str>),
    /// The step to the element of this index.
    Index(u64),
    /// The text of the key's value.
    Key(Box<str>),
}

impl FieldPath {
    /// Creates the path of a whole component or resource of a class.
    #[must_use]
    pub fn new(class: impl Into<Cow<'static, str>>) -> Self {
        let (class, steps, known) = (class.into(), Vec::new(), LastUse::default());
        Self(Arc::new(PathData { class, steps, known }))
    }

    #[cfg(any(feature = "history", feature = "world"))]
    pub(super) fn from_steps(class: String, steps: &[PathStep]) -> Self {
        let (class, steps, known) = (class.into(), steps.to_vec(), LastUse::default());
        Self(Arc::new(PathData { class, steps, known }))
    }

    /// Adds the path to an error.
    pub(crate) fn locate(&self, error: Error) -> Error {
        match self.steps() {
            [] => error,
            steps => located(steps)(error),
        }
    }

    /// Returns the path of a field of the value at this path.
    #[must_use]
    pub fn field(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.step(PathStep::Field(name.into()))
    }

    /// Returns the path of an element of the value at this path, by its index, or in a map by its key.
    #[must_use]
    pub fn at(self, key: impl Into<Value>) -> Self {
        self.step(PathStep::from_key(&key.into()))
    }

    fn step(mut self, step: PathStep) -> Self {
        let parts = Arc::make_mut(&mut self.0);
        parts.steps.push(step);
        parts.known = LastUse::default();
        self
    }

    /// Returns the name of the class.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.0.class
    }

    /// Returns the steps from the component or resource to the value.
    pub fn steps(&self) -> &[PathStep] {
        &self.0.steps
    }

    /// Returns true if the paths are equal. It is faster than `==` for clones.
    #[cfg(feature = "history")]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self == other
    }

    /// Returns true if the value at one path may contain the value at the other. Keys with different texts may be
    /// equal, so different keys count as overlapping.
    #[cfg(feature = "history")]
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let mut steps = self.steps().iter().zip(other.steps());
        let is_other = |steps: (&PathStep, &PathStep)| match steps {
            (PathStep::Field(one), PathStep::Field(other)) => one != other,
            (PathStep::Index(one), PathStep::Index(other)) => one != other,
            _ => false,
        };
        self.class() == other.class() && !steps.any(is_other)
    }

    /// Returns the path as a menu shows it: `Transform.position.x`.
    #[cfg(feature = "history")]
    pub(crate) fn dotted(&self) -> String {
        let steps = PathSteps(self.steps()).to_string();
        let dot = if steps.is_empty() || steps.starts_with('[') { "" } else { "." };
        format!("{}{dot}{steps}", self.class())
    }
}

#[cfg_attr(not(feature = "world"), expect(dead_code, reason = "a world finds numbers by it"))]
impl FieldPath {
    /// Returns the number that this world has assigned to the path, if it was the last to use it.
    pub(crate) fn known_in(&self, world: u32) -> Option<u32> {
        let known = self.0.known.0.load(Ordering::Relaxed);
        let number = u32::try_from(known & u64::from(u32::MAX)).ok()?;
        (known >> 32 == u64::from(world) && number != 0).then(|| number - 1)
    }

    /// Stores the number that a world assigns to the path.
    pub(crate) fn know_in(&self, world: u32, number: u32) {
        let known = u64::from(world) << 32 | u64::from(number + 1);
        self.0.known.0.store(known, Ordering::Relaxed);
    }
}

impl PathStep {
    pub(super) fn from_key(key: &Value) -> Self {
        match key.as_u64() {
            Some(index) => Self::Index(index),
            None => Self::Key(key.to_string().into()),
        }
    }
}

impl TryFrom<&str> for FieldPath {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        text.parse()
    }
}

/// Shows the text that `parse` reads.
impl Display for FieldPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_quoted(self.class(), NameOf::Class, f)?;
        if self.steps().is_empty() {
            return Ok(());
        }
        write!(f, ":{}", PathSteps(self.steps()))
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "FieldPath({self})")
    }
}

/// Adds the steps to an error.
pub(super) fn located(steps: &[PathStep]) -> impl Fn(Error) -> Error {
    move |error| error.in_field(&PathSteps(steps).to_string())
}

/// Shows steps as they are written after the class.
struct PathSteps<'s>(&'s [PathStep]);

impl Display for PathSteps<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Field(name) => {
                    f.write_str(if i == 0 { "" } else { "." })?;
                    write_quoted(name, NameOf::Field, f)?;
                }
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

/// Writes a name, in backticks if it contains characters of the path's syntax.
fn write_quoted(name: &str, of: NameOf, f: &mut Formatter<'_>) -> fmt::Result {
    let is_odd = match of {
        NameOf::Class => name.replace("::", "").contains(':') || name.starts_with('`'),
        _ => name.contains(['.', '[', ':', '`']),
    };
    if is_odd || name.is_empty() { write_name(name, of, f) } else { f.write_str(name) }
}

impl FromStr for FieldPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).map_err(|reason| {
            error!(
                ErrorKind::InvalidValue,
                "`{text}` is no path of a field: {reason}; write `Class:field.sub[3]`"
            )
        })
    }
}

fn parse(text: &str) -> Result<FieldPath, String> {
    let (class, mut rest) = class(text)?;
    let mut path = FieldPath::new(class);
    while !rest.is_empty() {
        let is_first = path.steps().is_empty();
        let (step, after) = match rest.strip_prefix('[') {
            Some(key) => key_step(key)?,
            None => match rest.strip_prefix('.') {
                Some(name) if !is_first => name_step(name)?,
                None if is_first => name_step(rest)?,
                _ => return Err(format!("`{rest}` does not begin with a dot and a name")),
            },
        };
        path = path.step(step);
        rest = after;
    }
    Ok(path)
}

/// Parses the class, and returns the text after the colon.
fn class(text: &str) -> Result<(String, &str), String> {
    if text.starts_with('`') {
        let (name, end) = first_name(text).map_err(|error| error.message().to_owned())?;
        let rest = &text[end..];
        return match rest.strip_prefix(':') {
            Some(rest) => Ok((name, rest)),
            None if rest.is_empty() => Ok((name, rest)),
            None => Err(format!("`{rest}` does not begin with a colon")),
        };
    }
    let mut from = 0;
    let end = loop {
        let Some(colon) = text[from..].find(':').map(|at| from + at) else { break None };
        if !text[colon..].starts_with("::") {
            break Some(colon);
        }
        from = colon + 2;
    };
    let (class, rest) = end.map_or((text, ""), |end| (&text[..end], &text[end + 1..]));
    if class.is_empty() {
        return Err(String::from("it has no class"));
    }
    Ok((class.to_owned(), rest))
}

fn name_step(text: &str) -> Result<(PathStep, &str), String> {
    if text.starts_with('`') {
        let (name, end) = first_name(text).map_err(|error| error.message().to_owned())?;
        return Ok((PathStep::Field(name.into()), &text[end..]));
    }
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    if name.is_empty() {
        return Err(String::from("a name is empty"));
    }
    if name.contains([':', '`']) {
        return Err(format!("the name `{name}` needs backticks around it"));
    }
    Ok((PathStep::Field(name.to_owned().into()), rest))
}

/// Parses a key after its opening bracket, and returns the text after the closing one.
fn key_step(text: &str) -> Result<(PathStep, &str), String> {
    let unclosed = || format!("`[{text}` has no closing bracket");
    if let Ok((key, end)) = first_value(text)
        && let Some(rest) = text[end..].trim_start().strip_prefix(']')
    {
        return Ok((PathStep::from_key(&key), rest));
    }
    // A single word is a text without quotes.
    let (word, rest) = text.split_once(']').ok_or_else(unclosed)?;
    if word.is_empty() || !word.chars().all(|c| c == '_' || c == '-' || c.is_alphanumeric()) {
        return Err(format!("`[{word}]` is no key; put a text into quotes"));
    }
    Ok((PathStep::from_key(&Value::from(word)), rest))
}
