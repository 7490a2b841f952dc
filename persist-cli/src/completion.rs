//! Completes paths and classes from the save on the command line, for shells.
//!
//! `persist completions` prints scripts that call `persist __complete SHELL LINE WORD` where the words of the commands
//! end: `LINE` is the line up to the cursor, and `WORD` the part of it that the shell replaces.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path as FilePath, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory};
use persist::Value;
use persist::debug::label::{class_text, component_text, push_name};

use crate::exit::Result;
use crate::found::Found;
use crate::input::{Save, Source};
use crate::path::{Path, Start, child_text};
use crate::pattern::matching;
use crate::values::Hop;
use crate::world::{self, Object};

/// The word after `persist` that asks for completions.
const WORD: &str = "__complete";

/// The most completions, and the most values that are read for them.
const MAX_FOUND: usize = 200;

/// How long a completion may take. After that there is none: a user who waits has typed on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints completions if the command line asks for them, one on each line.
pub(crate) fn run() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args_os().map(|it| it.to_string_lossy().into()).collect();
    let [_, word, shell, line, current] = &words[..] else { return None };
    if word != WORD {
        return None;
    }
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        std::process::exit(0);
    });
    let (words, quote) = words_of(line);
    let typed = words.last().cloned().unwrap_or_default();
    // A save that cannot be read has no completions, and the shell shows no errors.
    let found = complete(&words).unwrap_or_default();
    let mut text = String::new();
    for found in found.into_iter().take(MAX_FOUND) {
        let Some(rest) = found.strip_prefix(&*typed) else { continue };
        match &**shell {
            "fish" => text.push_str(&found),
            _ => text.extend([current, &*quoted(rest, quote)]),
        }
        text.push('\n');
    }
    // A shell that has closed the pipe wants nothing.
    drop(std::io::stdout().write_all(text.as_bytes()));
    Some(ExitCode::SUCCESS)
}

/// Splits the last command of a line into words, as shells do. Returns the quote that is open at the end, too. The last
/// word is the one that is completed; it is empty after a space.
fn words_of(line: &str) -> (Vec<String>, Option<char>) {
    let (mut words, mut quote) = (vec![String::new()], None);
    let mut is_begun = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, is_begun) = (Some(c), true),
            (None | Some('"'), '\\') => {
                words.last_mut().into_iter().for_each(|word| word.extend(chars.next()));
                is_begun = true;
            }
            (None, '|' | ';' | '&') => (words, is_begun) = (vec![String::new()], false),
            (None, c) if c.is_whitespace() => {
                if std::mem::take(&mut is_begun) {
                    words.push(String::new());
                }
            }
            (_, c) => {
                words.last_mut().into_iter().for_each(|word| word.push(c));
                is_begun = true;
            }
        }
    }
    (words, quote)
}

/// Returns a text as it continues a word of a shell.
fn quoted(text: &str, quote: Option<char>) -> String {
    let mut quoted = String::new();
    for c in text.chars() {
        match quote {
            Some('\'') if c == '\'' => quoted.push_str("'\\'"),
            Some('"') if !"\"\\$`".contains(c) => {}
            Some('\'') => {}
            _ if c.is_alphanumeric() || "_./:-".contains(c) => {}
            _ => quoted.push('\\'),
        }
        quoted.push(c);
    }
    quoted
}

/// Returns what the last of the words may become.
fn complete(words: &[String]) -> Result<BTreeSet<String>> {
    let command = crate::args::Args::command();
    let Some((name, file)) = argument(&command, words) else { return Ok(BTreeSet::new()) };
    let file = match (file.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => FilePath::new(&home).join(rest),
        _ => file,
    };
    if !file.is_file() {
        return Ok(BTreeSet::new());
    }
    let mut source = Source::open(&file)?;
    let mut save = source.whole()?;
    let text = words.last().map_or("", String::as_str);
    let mut found = match &*name {
        "class" => {
            let all = save.classes().iter().map(|class| &*class.name).collect();
            classes(text, &all)
        }
        _ => paths(text, &mut save)?,
    };
    found.retain(|found| found.starts_with(text));
    Ok(found)
}

/// Returns the name of the argument that the last of the words is, and the save before it, if it is completed here.
fn argument(command: &Command, words: &[String]) -> Option<(String, PathBuf)> {
    let (last, before) = words.split_last()?;
    let (mut at, mut positionals, mut option) = (command, Vec::new(), None::<&Arg>);
    let takes_value = |arg: &&Arg| arg.get_action().takes_values();
    for word in before.iter().skip(1) {
        if option.take().is_some() {
            continue;
        }
        let all = at.get_arguments().chain(command.get_arguments());
        if let Some(long) = word.strip_prefix("--") {
            option = all.filter(takes_value).find(|arg| arg.get_long() == Some(long));
        } else if let Some(short) = word.strip_prefix('-').and_then(|it| it.chars().last()) {
            option = all.filter(takes_value).find(|arg| arg.get_short() == Some(short));
        } else if std::ptr::eq(at, command) {
            at = command.find_subcommand(word)?;
        } else {
            positionals.push(word);
        }
    }
    let arg = match option {
        Some(option) => option,
        None if last.starts_with('-') => return None,
        None => at.get_positionals().nth(positionals.len())?,
    };
    let is_first_file = at.get_positionals().next().is_some_and(|first| first.get_id() == "file");
    let name = Some(arg.get_id().to_string()).filter(|it| it == "path" || it == "class");
    name.filter(|_| is_first_file).zip(positionals.first().map(PathBuf::from))
}

/// Returns the names of classes that may continue a text: without their modules, unless that is ambiguous or they are
/// typed.
fn classes(text: &str, all: &BTreeSet<&str>) -> BTreeSet<String> {
    let each = all.iter().flat_map(|name| {
        let last = name.rsplit('.').next().filter(|last| is_word(last));
        let short = last.filter(|last| matching(last, all).is_some_and(|found| found.len() == 1));
        let is_full = short.is_none() || !text.is_empty();
        [short.map(String::from), is_full.then(|| class_text(name).into_owned())]
    });
    each.flatten().collect()
}

fn is_word(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns the paths that may continue a text.
fn paths(text: &str, save: &mut Save<'_>) -> Result<BTreeSet<String>> {
    let by_class = save.classes().iter().zip(save.by_class());
    let present = by_class.filter(|(_, count)| count.records > 0).map(|(class, _)| &*class.name);
    let present: BTreeSet<&str> = present.collect();
    let mut found = classes(text, &present);
    let is_world = present.contains(world::CLASS);
    if save.classes().iter().any(|class| class.name == world::CLASS) {
        found.insert(String::from("World/"));
    }
    let Some((prefix, step)) = last_step(text) else {
        if text.is_empty() {
            found.extend(names("", '/', save).unwrap_or_default());
            found.extend(names("", ':', save).unwrap_or_default());
            if !is_world {
                found.extend(names("", '.', save).unwrap_or_default());
            }
        }
        return Ok(found);
    };
    // The text before the step may be the beginning of the name of a class, which is no path.
    found.extend(names(prefix, step, save).unwrap_or_default());
    Ok(found)
}

/// Splits a path before its last step, which has begun with this character.
fn last_step(text: &str) -> Option<(&str, char)> {
    let (mut last, mut depth, mut quote) = (None, 0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) => quote = Some(open).filter(|open| *open != c),
            (None, '`' | '"') => quote = Some(c),
            (None, ']') => (depth, last) = (depth.saturating_sub(1), None),
            (None, '[') => {
                last = Some((&text[..at], c)).filter(|_| depth == 0);
                depth += 1;
            }
            (None, '.' | '/' | ':') => last = Some((&text[..at], c)).filter(|_| depth == 0),
            _ => {}
        }
    }
    last
}

/// Returns the paths that consist of a path and a step that begins with a character.
fn names(prefix: &str, step: char, save: &mut Save<'_>) -> Result<BTreeSet<String>> {
    let all = match step {
        '[' if prefix.is_empty() => String::from("."),
        '[' => prefix.to_owned(),
        step => format!("{prefix}{step}*"),
    };
    let path = Path::parse(&all, save)?;
    let (mut steps, mut visited) = (BTreeSet::new(), 0);
    let is_class = step == '['
        && matches!(path.start, Start::Classes(..))
        && path.steps.is_empty()
        && !prefix.ends_with(']');
    path.each_head(save, &|_| false, &mut |found, _| {
        visited += 1;
        match step {
            '[' => add_keys(&found.value, is_class, &mut steps),
            step => steps.extend(name(&found, step)),
        }
        Ok(visited < MAX_FOUND && steps.len() < MAX_FOUND)
    })?;
    Ok(steps.into_iter().map(|step| format!("{prefix}{step}")).collect())
}

/// Returns the step that leads to a value from the one around it.
fn name(found: &Found<'_>, step: char) -> Option<String> {
    match step {
        '.' => {
            let Some(Hop::Field(name)) = found.hops.last() else { return None };
            let mut step = String::new();
            push_name(&mut step, name);
            Some(step)
        }
        '/' => {
            let object = Object::of(&found.value)?;
            Some(match object.name {
                "" => format!("/#{}", object.id),
                name => format!("/{}", child_text(name)),
            })
        }
        _ => {
            let class = found.value.as_record()?.class();
            let last = class.rsplit('.').next().filter(|last| is_word(last));
            Some(format!(":{}", last.map_or_else(|| component_text(class), Cow::Borrowed)))
        }
    }
}

/// Adds what may stand in brackets after a value, or after the class of objects.
fn add_keys(value: &Value, is_class: bool, steps: &mut BTreeSet<String>) {
    let mut value = value;
    while let Value::Option(Some(inner)) = value {
        value = inner;
    }
    let has_items = match value {
        Value::Seq(values) | Value::Tuple(values) => !values.is_empty(),
        _ => false,
    };
    if is_class || has_items {
        steps.extend(["[0]", "[-1]", "[*]"].map(String::from));
    }
    match value {
        Value::Map(entries) => {
            let keys = entries.iter().take(MAX_FOUND).map(|(key, _)| format!("[{key}]"));
            steps.extend(keys);
        }
        // The beginning of a condition.
        Value::Struct(record) | Value::Enum(record) => {
            steps.extend(record.fields().map(|(name, _)| format!("[{name} ")));
        }
        _ => {}
    }
}

/// The lines that are appended to the script of a shell.
pub(crate) const BASH: &str = r#"
# Paths and classes are those of the save on the line.
_persist_of_save() {
    local -a found
    mapfile -t found < <("$1" __complete bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    if [[ ${#found[@]} -gt 0 ]]; then
        COMPREPLY=("${found[@]}")
        compopt -o nospace 2>/dev/null
    else
        _persist "$@"
    fi
}
complete -F _persist_of_save -o bashdefault -o default persist
"#;

pub(crate) const ZSH: &str = r#"
# Paths and classes are those of the save on the line.
_persist_of_save() {
    local -a found
    found=("${(@f)$("${words[1]}" __complete zsh "$LBUFFER" "$PREFIX" 2>/dev/null)}")
    if [[ -n "$found" ]]; then
        compadd -Q -S '' -- "${found[@]}"
    else
        _persist "$@"
    fi
}
compdef _persist_of_save persist
if [ "$funcstack[1]" = "_persist" ]; then
    _persist_of_save "$@"
fi
"#;

pub(crate) const FISH: &str = r#"
# Paths and classes are those of the save on the line.
function _persist_of_save
    command persist __complete fish (commandline -cp) (commandline -ct) 2>/dev/null
end
complete -c persist -n "__fish_seen_subcommand_from dump get find set edit" -a "(_persist_of_save)"
complete -c persist -n "__fish_seen_subcommand_from find" -l class -r -f -a "(_persist_of_save)"
"#;
