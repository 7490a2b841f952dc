//! `persist graph`.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use persist::debug::escape;
use persist_tools::Entry;
use serde::Serialize;

use super::set::find;
use crate::exit::{Outcome, Result};
use crate::input::{Damage, Source};
use crate::objects::{Objects, Reference};
use crate::output::{DIM, HEADING, NAME, Out, WARNING};

/// Show the objects of a save and their references.
///
/// The text is a tree from each object that the program added, and from each that nothing refers to. An object is
/// expanded at its first place. Cycles and unreferenced objects follow.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,

    /// Start at the object that a path leads to: `#17`, `Hero[0].sword`, `World/House/Door`.
    #[arg(long, value_name = "PATH")]
    from: Option<String>,

    /// Follow this many references in a row; text shows 8 if this is not given, the other forms all.
    #[arg(long)]
    depth: Option<usize>,

    /// Print a graph in the language DOT, for Graphviz.
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    #[command(flatten)]
    damage: Damage,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut source = Source::open(&args.file)?;
    source.bar().until(100);
    let (mut save, read) = source.save(&args.damage)?;
    let target = args.from.as_ref().map(|path| find(&mut save, path)).transpose()?;
    let save = source.document()?;
    let objects = Objects::of(save.classes(), save.entries());
    let start = target.and_then(|target| {
        let is_it = |entry: &&Entry| {
            (entry.id(), entry.is_kept(), entry.class_index())
                == (target.id, target.is_kept, target.class)
        };
        objects.at(save.entries().find(is_it)?, &target.hops)
    });
    let view = View { outgoing: objects.outgoing(), objects: &objects, start, depth: args.depth };
    let graph = out.is_json().then(|| view.json());
    source.bar().clear();
    if let Some(graph) = graph {
        out.json(&graph)?;
    } else if args.dot {
        view.dot(out)?;
    } else {
        view.text(out)?;
    }
    Ok(read)
}

/// The part of a graph that is shown.
struct View<'o, 'd> {
    objects: &'o Objects<'d>,
    outgoing: Vec<std::ops::Range<usize>>,
    start: Option<usize>,
    depth: Option<usize>,
}

#[derive(Serialize)]
struct Graph {
    objects: Vec<Node>,
    references: Vec<Edge>,
    cycles: Vec<Vec<String>>,
    unreferenced: Vec<String>,
}

#[derive(Serialize)]
struct Node {
    object: String,
    class: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
}

#[derive(Serialize)]
struct Edge {
    from: String,
    to: String,
    field: String,
}

impl View<'_, '_> {
    /// Returns the objects where trees begin: the start; or the objects that the program added, the unreferenced ones,
    /// and the rest.
    fn starts(&self) -> Vec<usize> {
        if let Some(start) = self.start {
            return vec![start];
        }
        let objects = &self.objects.objects;
        let added =
            (0..objects.len()).filter(|it| objects[*it].is_held && objects[*it].world.is_none());
        added.chain(self.objects.unreferenced()).chain(0..objects.len()).collect()
    }

    /// The objects that are shown, in the order of the save.
    fn shown(&self) -> Vec<usize> {
        let Some(start) = self.start else {
            return (0..self.objects.objects.len()).collect();
        };
        let mut is_seen = vec![false; self.objects.objects.len()];
        is_seen[start] = true;
        let mut level = vec![start];
        let mut steps = 0;
        while !level.is_empty() && self.depth.is_none_or(|depth| steps < depth) {
            let mut next = Vec::new();
            for object in level {
                for reference in self.held(object) {
                    if !std::mem::replace(&mut is_seen[reference.to], true) {
                        next.push(reference.to);
                    }
                }
            }
            level = next;
            steps += 1;
        }
        (0..is_seen.len()).filter(|object| is_seen[*object]).collect()
    }

    /// The references that an object holds.
    fn held(&self, object: usize) -> &[Reference] {
        &self.objects.references[self.outgoing[object].clone()]
    }

    fn field(&self, reference: Reference) -> &str {
        &self.objects.paths[reference.path]
    }

    fn json(&self) -> Graph {
        let shown = self.shown();
        let mut is_shown = vec![false; self.objects.objects.len()];
        for object in &shown {
            is_shown[*object] = true;
        }
        let path = |object: &usize| self.objects.path(*object);
        let of_shown = shown.iter().flat_map(|object| self.held(*object));
        let references =
            of_shown.filter(|reference| is_shown[reference.to]).map(|reference| Edge {
                from: path(&reference.from),
                to: path(&reference.to),
                field: self.field(*reference).to_owned(),
            });
        let cycles = self.objects.cycles().into_iter().filter(|cycle| is_shown[cycle[0]]);
        let unreferenced =
            self.objects.unreferenced().into_iter().filter(|object| is_shown[*object]);
        Graph {
            references: references.collect(),
            cycles: cycles.map(|cycle| cycle.iter().map(path).collect()).collect(),
            unreferenced: unreferenced.map(|object| path(&object)).collect(),
            objects: shown
                .iter()
                .map(|place| {
                    let object = &self.objects.objects[*place];
                    let (class, name) = (object.class.to_owned(), object.name.to_owned());
                    Node { object: path(place), class, name }
                })
                .collect(),
        }
    }

    fn dot(&self, out: &mut Out) -> Result<()> {
        let graph = self.json();
        let in_cycles: HashSet<&String> = graph.cycles.iter().flatten().collect();
        writeln!(out, "digraph save {{\n  node [shape=box, fontname=\"sans-serif\"];")?;
        for Node { object, class, name } in &graph.objects {
            let name = if name.is_empty() { String::new() } else { format!("\n{name}") };
            let label = quoted(&format!("{object} {class}{name}"));
            let colour = if in_cycles.contains(object) { ", color=\"#b4496a\"" } else { "" };
            writeln!(out, "  {} [label={label}{colour}];", quoted(object))?;
        }
        for Edge { from, to, field } in &graph.references {
            writeln!(out, "  {} -> {} [label={}];", quoted(from), quoted(to), quoted(field))?;
        }
        Ok(writeln!(out, "}}")?)
    }

    fn text(&self, out: &mut Out) -> Result<()> {
        let mut states = vec![State::New; self.objects.objects.len()];
        for start in self.starts() {
            if states[start] == State::New {
                self.tree(start, &mut states, out)?;
            }
        }
        if self.start.is_some() {
            return Ok(());
        }
        let cycles = self.objects.cycles();
        writeln!(out, "\n{}", out.styled(HEADING, format_args!("cycles: {}", cycles.len())))?;
        for cycle in &cycles {
            let paths: Vec<_> =
                cycle.iter().take(MAX_SHOWN).map(|object| self.objects.path(*object)).collect();
            let rest = if cycle.len() > MAX_SHOWN { ", .." } else { "" };
            writeln!(out, "{} objects: {}{rest}", cycle.len(), paths.join(", "))?;
        }
        let unreferenced = self.objects.unreferenced();
        let heading = format!("unreferenced objects: {}", unreferenced.len());
        writeln!(out, "\n{}", out.styled(HEADING, heading))?;
        for object in unreferenced.iter().take(MAX_SHOWN) {
            writeln!(out, "{}", self.object(*object, out))?;
        }
        if unreferenced.len() > MAX_SHOWN {
            writeln!(out, "and {} more; `--json` lists all", unreferenced.len() - MAX_SHOWN)?;
        }
        Ok(())
    }

    /// Prints an object and its targets. The stack is a list, since chains may be as long as the save.
    fn tree(&self, start: usize, states: &mut [State], out: &mut Out) -> Result<()> {
        let depth = self.depth.unwrap_or(TEXT_DEPTH);
        let mut open: Vec<(usize, std::slice::Iter<'_, Reference>)> = Vec::new();
        writeln!(out, "{}", self.object(start, out))?;
        states[start] = State::Open;
        open.push((start, self.held(start).iter()));
        while let Some((object, rest)) = open.last_mut() {
            let Some(reference) = rest.next() else {
                states[*object] = State::Printed;
                open.pop();
                continue;
            };
            let to = reference.to;
            for (place, (_, rest)) in open.iter().enumerate() {
                let is_last = rest.len() == 0;
                let branch = match (place + 1 == open.len(), is_last) {
                    (true, true) => "└── ",
                    (true, false) => "├── ",
                    (false, true) => "    ",
                    (false, false) => "│   ",
                };
                write!(out, "{}", out.styled(DIM, branch))?;
            }
            write!(out, "{} {}", out.styled(DIM, self.field(*reference)), self.object(to, out))?;
            match states[to] {
                State::Open => writeln!(out, " {}", out.styled(WARNING, "(cycle)"))?,
                State::Printed if self.held(to).is_empty() => writeln!(out)?,
                State::Printed => writeln!(out, " {}", out.styled(DIM, "(shown above)"))?,
                State::New => {
                    writeln!(out)?;
                    // An object that is cut here begins a whole tree of its own later.
                    if open.len() < depth {
                        states[to] = State::Open;
                        open.push((to, self.held(to).iter()));
                    }
                }
            }
        }
        Ok(())
    }

    fn object(&self, object: usize, out: &Out) -> String {
        let path = out.styled(NAME, self.objects.path(object));
        let object = &self.objects.objects[object];
        let class = escape::line(object.class);
        match object.name {
            "" => format!("{path} {class}"),
            name => format!("{path} {class} {name:?}"),
        }
    }
}

/// Levels of the trees of the text unless a depth is given. The width of a tree grows with its depth.
const TEXT_DEPTH: usize = 8;

/// Whether an object was printed with its targets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// The object is an ancestor of the current one.
    Open,
    Printed,
}

/// Objects that a line or a list shows at most.
const MAX_SHOWN: usize = 20;

/// A string of DOT.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
