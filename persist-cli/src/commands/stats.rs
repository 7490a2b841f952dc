//! `persist stats`.

use std::io::Write;
use std::path::PathBuf;

use persist::debug::escape;
use persist::save::Compression;
use persist_tools::{BlockUsage, Longest, SaveUsage, Usage, usage};
use serde::Serialize;

use crate::exit::{Failure, Outcome, Result};
use crate::input::{Damage, Source};
use crate::output::{DIM, HEADING, NAME, Out, bytes};

/// Show where the bytes of a save go: by class and field, the longest texts and lists, what compresses
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,

    /// Levels of fields in fields to show.
    #[arg(long, value_name = "LEVELS", default_value_t = 2)]
    depth: usize,

    /// Leave out parts with a smaller share than that many percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = share_of_100)]
    least: f64,

    #[command(flatten)]
    damage: Damage,
}

const EXAMPLES: &str = "\
Examples:
  persist stats big.sav                   by class and field, and by component of worlds
  persist stats big.sav --depth 4 --least 0.1
  persist stats big.sav --json | jq '.in_worlds[0].name'";

fn share_of_100(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| String::from("it is no number from 0 to 100"))
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut source = Source::open(&args.file)?;
    let read = source.salvage(&args.damage)?;
    let found = source.read(|save, limits| usage(save, limits));
    source.bar().clear();
    let found = found.map_err(|error| Failure::of_save(error, &source.name, true))?;
    if out.is_json() {
        out.json(&Shown::of(&found, &in_worlds(&found.whole), args.depth))?;
    } else {
        print(&found, args, out)?;
    }
    Ok(read)
}

fn print(found: &SaveUsage, args: &Args, out: &mut Out) -> Result<()> {
    let whole = &found.whole;
    let name = args.file.display().to_string();
    let size = bytes(whole.bytes);
    let name = out.styled(NAME, &name);
    if whole.stored == whole.bytes {
        writeln!(out, "{name}: {size}")?;
    } else {
        writeln!(out, "{name}: {size}, compressed to {}", bytes(whole.stored))?;
    }
    print_parts(&whole.parts, whole, (0, ""), args, out)?;
    let in_worlds = in_worlds(whole);
    if !in_worlds.is_empty() && args.depth > 0 {
        writeln!(out, "\n{}", out.styled(HEADING, "components and resources of worlds"))?;
        print_parts(&in_worlds, whole, (0, ""), args, out)?;
    }
    for (what, unit, longest) in
        [("longest texts", "B", &found.texts), ("longest lists", "elements", &found.lists)]
    {
        // Short ones are of no interest, nor is how many objects fit into a page.
        let is_of_page = |it: &Longest| it.class == "persist.Page" && it.field == "objects";
        let is_long = |it: &&Longest| it.length >= 16 && !is_of_page(it);
        let long = longest.iter().filter(is_long).collect::<Vec<_>>();
        if !long.is_empty() {
            writeln!(out, "\n{}", out.styled(HEADING, what))?;
        }
        for Longest { length, object, class, field, .. } in long {
            let (class, field) = (escape::line(class), escape::line(field));
            writeln!(out, "{length:>12} {unit}  #{object} {class}.{field}")?;
        }
    }
    let ratios = Ratios::of(&found.blocks);
    if let Some(Ratios { compressed, best, worst, plain }) = ratios {
        writeln!(out, "\n{}", out.styled(HEADING, "compression"))?;
        writeln!(out, "{compressed:>12} blocks compressed, {plain} not")?;
        for (what, block) in [("best", best), ("worst", worst)] {
            let (from, to) = (bytes(block.content), bytes(block.stored));
            let share = percent(block.stored, block.content);
            writeln!(out, "{what:>12} block at byte {}: {from} to {to}, {share}", block.offset)?;
        }
    }
    Ok(())
}

/// Returns the classes of components and resources, the largest first. They lie deep in those of worlds and pages.
fn in_worlds(whole: &Usage) -> Vec<Usage> {
    const KINDS: [&str; 2] = ["Box<dyn persist.Component>", "Box<dyn persist.Resource>"];
    let (mut found, mut open) = (Vec::new(), vec![whole]);
    while let Some(usage) = open.pop() {
        // A component may hold a world.
        open.extend(&usage.parts);
        if KINDS.contains(&&*usage.kind) {
            add_parts(&mut found, &usage.parts);
        }
    }
    // As the classes of objects, which have none.
    found.iter_mut().for_each(|class| class.kind.clear());
    found
}

/// Adds parts to those of the same names.
fn add_parts(to: &mut Vec<Usage>, parts: &[Usage]) {
    for part in parts {
        match to.iter_mut().find(|known| known.name == part.name) {
            Some(known) => {
                known.count += part.count;
                known.bytes += part.bytes;
                known.stored += part.stored;
                add_parts(&mut known.parts, &part.parts);
            }
            None => to.push(part.clone()),
        }
    }
    to.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
}

fn print_parts(
    parts: &[Usage],
    whole: &Usage,
    (level, indent): (usize, &str),
    args: &Args,
    out: &mut Out,
) -> Result<()> {
    if level >= args.depth {
        return Ok(());
    }
    let is_shown = |part: &&Usage| share(part.bytes, whole.bytes) * 100.0 >= args.least;
    let shown: Vec<&Usage> = parts.iter().filter(is_shown).collect();
    let hidden: Vec<&Usage> = parts.iter().filter(|part| !is_shown(part)).collect();
    let last = shown.len() + usize::from(!hidden.is_empty());
    for (number, part) in shown.iter().enumerate() {
        let is_last = number + 1 == last;
        let branch = if level == 0 {
            ""
        } else if is_last {
            "└ "
        } else {
            "├ "
        };
        print_line(part, whole, &format!("{indent}{branch}"), out)?;
        let below = if level == 0 {
            ""
        } else if is_last {
            "  "
        } else {
            "│ "
        };
        print_parts(&part.parts, whole, (level + 1, &format!("{indent}{below}")), args, out)?;
    }
    if !hidden.is_empty() {
        let sum = hidden.iter().map(|part| part.bytes).sum();
        let branch = if level == 0 { "" } else { "└ " };
        let many = hidden.len();
        let size = bytes(sum);
        let rest = format!("{many} smaller");
        let rest = out.styled(DIM, &rest);
        writeln!(
            out,
            "{:>8} {size:>11}  {}  {indent}{branch}{rest}",
            percent(sum, whole.bytes),
            bar(sum, whole.bytes)
        )?;
    }
    Ok(())
}

fn print_line(part: &Usage, whole: &Usage, indent: &str, out: &mut Out) -> Result<()> {
    let (share, size) = (percent(part.bytes, whole.bytes), bytes(part.bytes));
    let bar = bar(part.bytes, whole.bytes);
    let mut notes = Vec::new();
    if !part.kind.is_empty() {
        notes.push(part.kind.clone());
    }
    if part.count != 1 {
        notes.push(format!("× {}", part.count));
    }
    if whole.stored != whole.bytes {
        notes.push(format!("{} stored", bytes(part.stored)));
    }
    let notes = notes.join("  ");
    let (name, notes) = (out.styled(NAME, &part.name), out.styled(DIM, &notes));
    writeln!(out, "{share:>8} {size:>11}  {bar}  {indent}{name}  {notes}")?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", share(part, whole) * 100.0)
}

/// Ten places, in eighths.
fn bar(part: u64, whole: u64) -> String {
    const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    let eighths = (u128::from(part) * 80 / u128::from(whole.max(1))).min(80);
    let place = |place: u128| {
        let eighth = eighths.saturating_sub(place * 8).min(8);
        EIGHTHS[usize::try_from(eighth).unwrap_or(0)]
    };
    (0..10).map(place).collect()
}

/// The compressed blocks.
struct Ratios<'b> {
    compressed: usize,
    plain: usize,
    best: &'b BlockUsage,
    worst: &'b BlockUsage,
}

impl<'b> Ratios<'b> {
    fn of(blocks: &'b [BlockUsage]) -> Option<Self> {
        let is_compressed = |block: &&BlockUsage| block.compression != Compression::None;
        let compressed: Vec<&BlockUsage> = blocks.iter().filter(is_compressed).collect();
        let ratio = |block: &BlockUsage| share(block.stored, block.content);
        let compare = |a: &&&BlockUsage, b: &&&BlockUsage| ratio(a).total_cmp(&ratio(b));
        Some(Self {
            compressed: compressed.len(),
            plain: blocks.len() - compressed.len(),
            best: compressed.iter().min_by(compare)?,
            worst: compressed.iter().max_by(compare)?,
        })
    }
}

#[derive(Serialize)]
struct Shown<'u> {
    bytes: u64,
    stored: u64,
    parts: Vec<Part<'u>>,
    in_worlds: Vec<Part<'u>>,
    texts: Vec<Long<'u>>,
    lists: Vec<Long<'u>>,
    blocks: Vec<Block>,
}

#[derive(Serialize)]
struct Part<'u> {
    name: &'u str,
    kind: &'u str,
    count: u64,
    bytes: u64,
    stored: u64,
    parts: Vec<Part<'u>>,
}

#[derive(Serialize)]
struct Long<'u> {
    length: u64,
    object: u64,
    class: &'u str,
    field: &'u str,
}

#[derive(Serialize)]
struct Block {
    offset: u64,
    stored: u64,
    content: u64,
    compressed: bool,
}

impl<'u> Shown<'u> {
    fn of(found: &'u SaveUsage, in_worlds: &'u [Usage], depth: usize) -> Self {
        fn parts(all: &[Usage], depth: usize) -> Vec<Part<'_>> {
            let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
            let mut shown = Vec::new();
            for part in all {
                shown.push(Part {
                    name: &part.name,
                    kind: &part.kind,
                    count: part.count,
                    bytes: part.bytes,
                    stored: part.stored,
                    parts: parts(&part.parts, depth),
                });
            }
            shown
        }
        let long = |long: &'u Longest| Long {
            length: long.length,
            object: long.object,
            class: &long.class,
            field: &long.field,
        };
        let block = |block: &BlockUsage| Block {
            offset: block.offset,
            stored: block.stored,
            content: block.content,
            compressed: block.compression != Compression::None,
        };
        Self {
            bytes: found.whole.bytes,
            stored: found.whole.stored,
            parts: parts(&found.whole.parts, depth),
            in_worlds: parts(in_worlds, depth),
            texts: found.texts.iter().map(long).collect(),
            lists: found.lists.iter().map(long).collect(),
            blocks: found.blocks.iter().map(block).collect(),
        }
    }
}
