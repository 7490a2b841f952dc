//! `persist info`.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use persist::debug::escape;
use persist::history::JournalInfo;
use persist::save::{Compression, Header};
use persist::{ErrorKind, History, Saves, Session, Value, World};
use persist_tools::__private::{ObjectOutline, WholeObjects};
use serde::Serialize;

use crate::exit::{Failure, Outcome, Result};
use crate::found::{Found, each_world};
use crate::input::{Save, Source, failure_json};
use crate::output::{
    BAD, DIM, GOOD, HEADING, NAME, Out, WARNING, bytes, is_same_file, note, write_file_with,
};
use crate::paged::PagedWorld;
use crate::path::child_text;
use crate::slot_info::ShownInfo;
use crate::world::{Object, parent_of};

/// Show what saves say of themselves, and what lies beside them; exit code 1 if one is damaged
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Saves, or `-` for standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  persist info slots/*.sav                what is in each save: objects by class, worlds, backups, journals
  persist info a.sav --json | jq '.[0].worlds.roots'
  persist info - < a.sav";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let (mut is_bad, mut is_unread) = (false, false);
    let mut shown = Vec::new();
    let mut is_first = true;
    for file in &args.files {
        let mut source = match Source::open(file) {
            Ok(source) => source,
            Err(failure) => {
                is_unread = true;
                out.failed(&failure)?;
                shown.push(failure_json(file, &failure));
                continue;
            }
        };
        let info = Info::of(&mut source)?;
        is_bad |= info.damage.is_some();
        is_unread |= info.is_no_save;
        if out.is_json() {
            shown.push(serde_json::to_value(&info)?);
            continue;
        }
        if !std::mem::take(&mut is_first) {
            writeln!(out)?;
        }
        print(&info, out)?;
    }
    if out.is_json() {
        out.json(&shown)?;
    }
    Ok(if is_unread { Outcome::Unread } else { Outcome::found(is_bad) })
}

/// The most objects at the top of worlds that are named.
const MAX_ROOTS: usize = 10;

/// The most pages of a world in which they are searched.
const MAX_PAGES: usize = 64;

#[derive(Default, Serialize)]
struct Info {
    file: String,
    bytes: u64,
    damage: Option<String>,
    /// True for a file that is no save, which is read as little as one that is missing.
    #[serde(skip)]
    is_no_save: bool,
    /// The objects of a damaged save that could be repaired.
    salvage: Option<Rescue>,
    format: Option<u16>,
    application: Option<String>,
    version: Option<String>,
    generation: Option<u64>,
    compression: Option<&'static str>,
    devices: Vec<Device>,
    info: Option<ShownInfo>,
    objects: Option<u64>,
    kept: Option<u64>,
    classes: Vec<Class>,
    worlds: Option<Worlds>,
    beside: Vec<Beside>,
    journals: Vec<Journal>,
}

#[derive(Serialize)]
struct Device {
    name: String,
    saves: u64,
}

#[derive(Serialize)]
struct Class {
    name: String,
    objects: u64,
    /// Without compression.
    bytes: u64,
}

/// The objects in the worlds of a save, and their values.
#[derive(Serialize)]
struct Worlds {
    objects: u64,
    pages: u64,
    /// The classes of components, of resources and of other trait objects.
    values: Vec<Values>,
    /// The classes of the resources.
    resources: Vec<String>,
    /// The paths of some objects at the top.
    roots: Vec<String>,
    /// True if there may be more objects at the top.
    has_more_roots: bool,
}

#[derive(Serialize)]
struct Values {
    name: String,
    values: u64,
}

#[derive(Serialize)]
struct Rescue {
    objects: u64,
    /// False if some of these objects may need a lost one.
    #[serde(skip)]
    is_exact: bool,
    lost: Option<u64>,
    lost_header: bool,
    lost_head: bool,
    /// Objects of worlds in lost pages.
    lost_in_worlds: u64,
    zeroed_bytes: u64,
}

/// An earlier save, or a damaged or refused one that was kept.
#[derive(Serialize)]
struct Beside {
    file: String,
    kind: &'static str,
    bytes: u64,
    generation: Option<u64>,
}

#[derive(Serialize)]
struct Journal {
    file: String,
    bytes: u64,
    follows_save: bool,
    events: u64,
    problem: Option<String>,
}

impl Info {
    fn of(source: &mut Source) -> Result<Self> {
        let (name, size) = (source.name.clone(), source.size);
        let of_save = match source.checked().map(|mut save| Self::of_save(&mut save)) {
            Ok(of_save) => of_save?,
            Err(error) => {
                let bytes = source.bytes()?;
                Self {
                    damage: Some(error.to_string()),
                    is_no_save: error.kind() == ErrorKind::NotASave,
                    salvage: Rescue::of(&bytes),
                    ..Self::of_header(Header::read(&bytes).ok().as_ref())
                }
            }
        };
        let path = source.path.as_deref();
        Ok(Self {
            file: name,
            bytes: size,
            beside: path.map(beside).unwrap_or_default(),
            journals: path.map(journals).unwrap_or_default(),
            ..of_save
        })
    }

    fn of_save(save: &mut Save<'_>) -> Result<Self> {
        let worlds = Worlds::of(save)?;
        let found = save.counts();
        Ok(Self {
            compression: Some(name_of(save.compression())),
            objects: Some(found.objects),
            kept: Some(found.kept),
            classes: classes(save),
            worlds,
            ..Self::of_header(Some(save.header()))
        })
    }

    fn of_header(header: Option<&Header>) -> Self {
        let devices = header.into_iter().flat_map(Header::devices);
        Self {
            format: header.map(|header| header.format),
            application: header.and_then(|header| header.application.clone()),
            version: header.and_then(|header| header.application_version.clone()),
            generation: header.map(|header| header.generation),
            devices: devices.map(|(name, saves)| Device { name: name.into(), saves }).collect(),
            info: header.and_then(ShownInfo::of),
            ..Self::default()
        }
    }
}

/// The classes with records, those with the most bytes first.
fn classes(save: &Save<'_>) -> Vec<Class> {
    let counted = save.classes().iter().zip(save.by_class());
    let counted = counted.filter(|(_, count)| count.bytes > 0 || count.records > 0);
    let mut classes: Vec<Class> = counted
        .map(|(class, count)| Class {
            name: class.name.clone(),
            // Only pages are no objects.
            objects: if count.records > 0 { count.records } else { save.counts().pages },
            bytes: count.bytes,
        })
        .collect();
    classes.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    classes
}

impl Worlds {
    /// Returns the objects of worlds, and the classes of their components, those with the most first.
    fn of(save: &mut Save<'_>) -> Result<Option<Self>> {
        let found = save.counts();
        if found.world_objects == 0 {
            return Ok(None);
        }
        let counted = save.classes().iter().zip(save.by_class());
        let counted = counted.filter(|(_, count)| count.values > 0);
        let mut values: Vec<Values> = counted
            .map(|(class, count)| Values { name: class.name.clone(), values: count.values })
            .collect();
        values.sort_by(|a, b| b.values.cmp(&a.values).then_with(|| a.name.cmp(&b.name)));
        let (objects, pages) = (found.world_objects, found.pages);
        let (resources, roots, has_more_roots) = (Vec::new(), Vec::new(), false);
        let mut this = Self { objects, pages, values, resources, roots, has_more_roots };
        each_world(save, &|_| false, &mut |world, save| {
            this.add(&world, save)?;
            Ok(true)
        })?;
        Ok(Some(this))
    }

    /// Adds the resources of a world, and its first objects at the top. It may lie in pages.
    fn add(&mut self, found: &Found<'_>, save: &mut Save<'_>) -> Result<()> {
        let holder = found.object.id();
        let record = found.value.as_record();
        let resources = record.and_then(|world| world.get("resources")?.as_seq());
        for resource in resources.unwrap_or_default().iter().filter_map(Value::as_record) {
            if !self.resources.iter().any(|known| known == resource.class()) {
                self.resources.push(resource.class().to_owned());
            }
        }
        let Some(paged) = PagedWorld::of(&found.value, holder, save) else {
            let objects = record.and_then(|world| world.get("objects")?.as_seq());
            for object in objects.unwrap_or_default().iter().filter_map(Object::of) {
                if parent_of(object.value).is_none() {
                    self.add_root(&found.label, object.id, object.name);
                }
            }
            return Ok(());
        };
        for (number, page) in paged.index.iter().enumerate() {
            let mut outline = |object: &ObjectOutline<'_>| {
                if object.parent.is_none() {
                    self.add_root(&found.label, object.id, object.name);
                }
            };
            save.page_outlines(holder, page, &mut outline)?;
            self.has_more_roots |= number + 1 == MAX_PAGES && paged.index.len() > MAX_PAGES;
            if self.has_more_roots {
                break;
            }
        }
        Ok(())
    }

    fn add_root(&mut self, world: &str, id: u64, name: &str) {
        if self.roots.len() == MAX_ROOTS {
            self.has_more_roots = true;
            return;
        }
        let name = if name.is_empty() { format!("#{id}") } else { child_text(name) };
        self.roots.push(format!("{world}/{name}"));
    }
}

fn name_of(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "none",
        Compression::Lz4 => "lz4",
        Compression::Zstd(_) => "zstd",
        _ => "unknown",
    }
}

impl Rescue {
    fn of(save: &[u8]) -> Option<Self> {
        let WholeObjects {
            objects,
            is_exact,
            lost,
            lost_header,
            lost_head,
            lost_in_worlds,
            zeroed_bytes,
        } = WholeObjects::count(save)?;
        Some(Self { objects, is_exact, lost, lost_header, lost_head, lost_in_worlds, zeroed_bytes })
    }
}

/// The backups of a save, and the damaged and refused saves that were kept.
fn beside(file: &Path) -> Vec<Beside> {
    let mut found = Vec::new();
    for (suffix, kind) in [(".bak", "backup"), (".damaged", "damaged"), (".refused", "refused")] {
        // An interrupted save may leave a gap.
        let mut missing = 0;
        for number in 1_u32.. {
            let mut name = file.as_os_str().to_owned();
            name.push(suffix);
            if number > 1 {
                name.push(number.to_string());
            }
            let path = PathBuf::from(name);
            let Ok(metadata) = path.metadata() else {
                missing += 1;
                if missing > 2 {
                    break;
                }
                continue;
            };
            missing = 0;
            let header = std::fs::File::open(&path).ok().map(Header::from_reader);
            let generation = header.and_then(Result::ok).map(|header| header.generation);
            let file = path.display().to_string();
            found.push(Beside { file, kind, bytes: metadata.len(), generation });
        }
    }
    found
}

/// Journals of a folder that are read at most.
const MAX_JOURNALS: usize = 16;

/// The journals in the folder that follow a save, and those of its name.
fn journals(file: &Path) -> Vec<Journal> {
    // Through a link, the save that it leads to is changed.
    let is_link = file.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let file = &*match file.canonicalize() {
        Ok(whole) if is_link => Cow::Owned(whole),
        _ => Cow::Borrowed(file),
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return Vec::new();
    };
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|it| it == "journal");
    let named = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let named = named.map(|name| folder.map_or_else(|| name.clone().into(), |it| it.join(&name)));
    let mut paths: Vec<PathBuf> = named.filter(is_journal).collect();
    paths.sort();
    // A journal with the name of the save may belong to it, whichever save it follows.
    let is_own = |path: &Path| path.file_stem() == file.file_stem();
    paths.sort_by_key(|path| !is_own(path));
    let mut found = Vec::new();
    for path in paths.iter().take(MAX_JOURNALS) {
        let session = Session::<World>::with(Saves::new(), History::new(1));
        let journal = match session.inspect(file, path) {
            Ok(Some(info)) if info.follows_save || is_own(path) => of_info(path, &info),
            Err(error) if is_own(path) => {
                let file = path.display().to_string();
                let problem = Some(error.to_string());
                Journal { file, bytes: 0, follows_save: false, events: 0, problem }
            }
            _ => continue,
        };
        found.push(journal);
    }
    found
}

/// Refuses to change a save that a journal follows with unsaved changes, unless that is forced: the journal would not
/// follow the new save, so that nothing replays them.
pub(super) fn keep_unsaved(file: &Path, is_forced: bool) -> Result<()> {
    keep_unsaved_but(file, None, is_forced)
}

/// Like [`keep_unsaved`], for a change that is made from one of the journals.
pub(super) fn keep_unsaved_but(file: &Path, from: Option<&Path>, is_forced: bool) -> Result<()> {
    match unsaved(file, from) {
        Some((journal, changes)) if !is_forced => Err(Failure::new(format!(
            "{journal} has {changes} that would be lost; open the save with its program and save it, or use `--force`"
        ))),
        _ => Ok(()),
    }
}

/// Writes a file as [`write_file`](crate::output::write_file) does, and says whose unsaved changes are lost if that is forced.
pub(super) fn write_over(file: &Path, bytes: &[u8], is_forced: bool) -> Result<()> {
    write_over_with(file, is_forced, |to| Ok(to.write_all(bytes)?))
}

/// Writes a file like [`write_over`], by a function that writes it part by part.
pub(super) fn write_over_with(
    file: &Path,
    is_forced: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    keep_unsaved(file, is_forced)?;
    let lost = unsaved(file, None);
    write_file_with(file, is_forced, write)?;
    // If the new bytes equal the old ones, the journal still follows the save, and nothing is lost.
    if let Some((journal, changes)) = lost.filter(|_| unsaved(file, None).is_none()) {
        note(format_args!("lost: {changes} of {journal}"));
    }
    Ok(())
}

/// The journal, but for one, that follows a save with unsaved changes, and how many those are.
fn unsaved(file: &Path, but: Option<&Path>) -> Option<(String, String)> {
    if !file.exists() {
        return None;
    }
    let is_other =
        |journal: &Journal| but.is_none_or(|but| !is_same_file(but, Path::new(&journal.file)));
    let is_unsaved =
        |journal: &Journal| journal.follows_save && journal.events > 0 && is_other(journal);
    let Journal { file, events, .. } = journals(file).into_iter().find(is_unsaved)?;
    let changes = match events {
        1 => String::from("1 unsaved change"),
        events => format!("{events} unsaved changes"),
    };
    Some((file, changes))
}

fn of_info(path: &Path, info: &JournalInfo) -> Journal {
    let torn = info.torn.map(|torn| format!("its end was cut off, at byte {}", torn.offset));
    Journal {
        file: path.display().to_string(),
        bytes: info.bytes,
        follows_save: info.follows_save,
        events: info.events,
        problem: torn,
    }
}

fn print(info: &Info, out: &mut Out) -> Result<()> {
    let packed = info.compression.filter(|packed| *packed != "none");
    let packed = packed.map_or_else(String::new, |packed| format!(", compressed by {packed}"));
    let size = bytes(info.bytes);
    write!(out, "{}", out.styled(NAME, &info.file))?;
    writeln!(out, "{}", out.styled(DIM, format_args!("  {size}{packed}")))?;
    if let Some(damage) = &info.damage {
        writeln!(out, "  {}", out.styled(BAD, damage))?;
        match &info.salvage {
            Some(rescue) => {
                let Rescue { objects, is_exact, lost, lost_header, lost_head, .. } = rescue;
                let limit = if *is_exact { "" } else { "up to " };
                let all = lost.map_or_else(String::new, |lost| format!(" of {}", objects + lost));
                let header = if *lost_header { ", without the header" } else { "" };
                let head = if *lost_head { ", without the head of the world" } else { "" };
                let zeros = match rescue.zeroed_bytes {
                    0 => String::new(),
                    zeroed => format!(", with zeros in place of {}", bytes(zeroed)),
                };
                let of_worlds = match rescue.lost_in_worlds {
                    0 => String::new(),
                    objects => format!(", without {objects} objects of worlds"),
                };
                writeln!(
                    out,
                    "  `persist repair` would save {limit}{objects}{all} objects{of_worlds}{head}{header}{zeros}"
                )?;
            }
            None => writeln!(out, "  nothing of it can be saved")?,
        }
    }
    if let Some(application) = &info.application {
        let version = info.version.as_deref().unwrap_or("of no version");
        line("program", format_args!("{application} {version}"), out)?;
    }
    if let Some(generation) = info.generation.filter(|generation| *generation > 0) {
        line("generation", generation, out)?;
    }
    for Device { name, saves } in &info.devices {
        let name = if name.is_empty() { "(no name)" } else { name };
        line("device", format_args!("{name}, {saves} saves"), out)?;
    }
    if let Some(info) = &info.info {
        for (name, text) in info.facts() {
            line(name, text, out)?;
        }
        match info.value() {
            Ok(Some(value)) => line("value", value, out)?,
            Ok(None) => {}
            Err(error) => line("value", format_args!("cannot be read: {error}"), out)?,
        }
    }
    if let Some(objects) = info.objects {
        line("objects", objects, out)?;
        let names = info.classes.iter().map(|class| escape::line(&class.name)).collect::<Vec<_>>();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, Class { objects, bytes: size, .. }) in names.iter().zip(&info.classes) {
            writeln!(out, "    {name:width$}  {objects:>8}  {:>10}", bytes(*size))?;
        }
    }
    if let Some(Worlds { objects, pages, values, resources, roots, has_more_roots }) = &info.worlds
    {
        let pages = match pages {
            0 => String::new(),
            1 => String::from(", 1 page"),
            pages => format!(", {pages} pages"),
        };
        line("in worlds", format_args!("{objects} objects{pages}"), out)?;
        let names = values.iter().map(|value| escape::line(&value.name)).collect::<Vec<_>>();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, Values { values, .. }) in names.iter().zip(values) {
            writeln!(out, "    {name:width$}  {values:>8}")?;
        }
        if !resources.is_empty() {
            line("resources", resources.join(", "), out)?;
        }
        if !roots.is_empty() {
            let more = if *has_more_roots { ", .." } else { "" };
            line("at the top", format_args!("{}{more}", roots.join(", ")), out)?;
        }
    }
    if let Some(kept) = info.kept.filter(|kept| *kept > 0) {
        let records = if kept == 1 { "1 record".into() } else { format!("{kept} records") };
        line("kept", format_args!("{records} that a program did not know"), out)?;
    }
    for Beside { file, kind, bytes: size, generation } in &info.beside {
        let age = match generation {
            Some(generation) => format!("generation {generation}"),
            None => String::from("no header that can be read"),
        };
        line(kind, format_args!("{file}, {}, {age}", bytes(*size)), out)?;
    }
    for Journal { file, follows_save, events, problem, .. } in &info.journals {
        let what = match (follows_save, events) {
            (false, _) => out.styled(WARNING, String::from("it does not follow this save")),
            (true, 0) => out.styled(GOOD, String::from("nothing unsaved")),
            (true, 1) => out.styled(WARNING, String::from("1 unsaved change")),
            (true, events) => out.styled(WARNING, format!("{events} unsaved changes")),
        };
        let problem = problem.as_ref().map_or_else(String::new, |it| format!("; {it}"));
        let (name, problem) = (out.styled(HEADING, "journal   "), escape::line(&problem));
        writeln!(out, "  {name}  {}, {what}{problem}", escape::line(file))?;
    }
    Ok(())
}

fn line(name: &str, what: impl std::fmt::Display, out: &mut Out) -> Result<()> {
    let name = out.styled(HEADING, format!("{name:10}"));
    let what = what.to_string();
    Ok(writeln!(out, "  {name}  {}", escape::line(&what))?)
}
