//! Migrates steps that another version of the program recorded.
//!
//! A step of a field has that field alone, while a migration takes a whole record: it may, for example, compute one
//! field from two. So the replay follows each component *in the form in which it was recorded*. The journal has its
//! content at its first change, and again after everything that changes components other than by steps of fields. For
//! each step:
//!
//! ```text
//! recorded form   content before ---- step ----> content after
//!                       |                              |
//!                    migrate                        migrate
//!                       v                              v
//! program's form  content before -- differences -> content after
//! ```
//!
//! The differences are the migrated step. A target that is not a world is followed as a whole, also through undos and
//! redos, so that its content is not recorded again after them.

pub(super) mod replay;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::frame::{Frame, FrameKind};
use super::stored::{StoredDone, StoredProgram, StoredStep, read, wrong};
use super::{CommandClass, CommandClasses, ComponentKey, StoredCommand, StoredEntry};
use crate::env::Env;
use crate::fields::{ChangeState, Direction, FieldLinks, ObjectChange as _, Owner};
use crate::format::scan;
use crate::graph::Registry;
use crate::history::change::{Change, ChangeKind, all_in_bytes};
use crate::history::{Performed, Step, Support};
use crate::save::ReportRow;
use crate::schema::{
    FieldSchema, Form, KindSchema, LoadEvent, PlannedRow, Plans, REMOVED, SourceRecord, Stored,
    transcode,
};
use crate::sorting::sort_by;
use crate::{Error, ErrorKind, Limits, LoadOptions, Result};

/// The contents of components and resources, in the form in which they were recorded.
#[derive(Default)]
struct RecordedComponents {
    /// At the current point of the replay.
    known: HashMap<ComponentKey, Vec<u8>>,
    /// After the edit that comes next.
    next: HashMap<ComponentKey, Vec<u8>>,
}

impl RecordedComponents {
    /// Notes a content after the edit that comes next.
    fn enter(&mut self, key: ComponentKey, bytes: Vec<u8>) {
        self.next.insert(key, bytes);
    }

    /// Forgets all contents, after a change of components other than by steps of fields.
    fn clear(&mut self) {
        self.known.clear();
    }

    /// Follows the steps of an entry that is undone or redone. Forgets all contents if they do more than set fields.
    fn follow<T: 'static>(
        &mut self,
        steps: &[Step<T>],
        direction: Direction,
        classes: &Classes<'_>,
    ) {
        let mut steps: Vec<&Step<T>> = steps.iter().collect();
        if direction == Direction::Undo {
            steps.reverse();
        }
        if self.known.is_empty() {
            return;
        }
        let Ok(stored) = classes.stored() else { return self.clear() };
        for ((_, class), content) in &mut self.known {
            let Ok((number, _)) = classes.known(class) else { return self.clear() };
            for step in &steps {
                let Step::Change(change) = step else { return self.clear() };
                let run = |fields| all_in_bytes(fields, (&stored, number), content, direction);
                match change.recorded().map(run) {
                    Some(Ok(changed)) => *content = changed,
                    _ => return self.clear(),
                }
            }
        }
    }

    /// Migrates the steps of an edit.
    ///
    /// A component whose content is known is followed from before the edit to after it. One whose content was recorded
    /// for after the edit is followed back, from the last step to the first.
    fn migrate<T: 'static>(
        &mut self,
        steps: &mut [StoredStep],
        classes: &mut Classes<'_>,
        recorded: (&T, &Support<T>),
    ) -> Result<()> {
        let mut next = std::mem::take(&mut self.next);
        let after = next.clone();
        // Steps that were migrated may have other class names, so the keys are collected first.
        let mut keys = HashSet::new();
        for step in &*steps {
            step.each(&mut |change| keys.extend(change.key()));
        }
        let is_forward =
            |key: &ComponentKey| self.known.contains_key(key) && !after.contains_key(key);
        let (forward, backward): (HashSet<ComponentKey>, HashSet<ComponentKey>) =
            keys.into_iter().partition(is_forward);
        let (contents, direction) = (&mut self.known, Direction::Redo);
        let (keys, change_state) = (Some(forward), ChangeState::Done);
        let mut run = Evolution { classes, recorded, contents, keys, direction, change_state };
        run.all(steps)?;
        (run.contents, run.keys, run.direction) = (&mut next, Some(backward), Direction::Undo);
        run.all(steps)?;
        self.known.extend(after);
        Ok(())
    }

    /// Migrates the steps of the entries at the beginning of a journal. The first `position` of them are applied.
    fn migrate_entries<'s, T: 'static>(
        &mut self,
        entries: impl DoubleEndedIterator<Item = &'s mut [StoredStep]> + ExactSizeIterator,
        position: usize,
        classes: &mut Classes<'_>,
        recorded: (&T, &Support<T>),
    ) -> Result<()> {
        let now = std::mem::take(&mut self.next);
        let mut entries: Vec<&mut [StoredStep]> = entries.collect();
        let count = entries.len();
        let (applied, undone) = entries.split_at_mut(position.min(count));
        let mut contents = now.clone();
        let (direction, change_state) = (Direction::Undo, ChangeState::Applied);
        let contents = &mut contents;
        let mut run =
            Evolution { classes, recorded, contents, keys: None, direction, change_state };
        applied.iter_mut().rev().try_for_each(|steps| run.all(steps))?;
        let mut contents = now.clone();
        run.contents = &mut contents;
        (run.direction, run.change_state) = (Direction::Redo, ChangeState::Undone);
        undone.iter_mut().try_for_each(|steps| run.all(steps))?;
        self.known = now;
        Ok(())
    }
}

/// A pass over steps, forward or back, that migrates them.
struct Evolution<'e, 'p, T: 'static> {
    classes: &'e mut Classes<'p>,
    /// The target, and the access to its fields.
    recorded: (&'e T, &'e Support<T>),
    /// The contents at the current step, in the recorded form.
    contents: &'e mut HashMap<ComponentKey, Vec<u8>>,
    /// The components whose steps are migrated. `None` for all.
    keys: Option<HashSet<ComponentKey>>,
    direction: Direction,
    change_state: ChangeState,
}

impl<T: 'static> Evolution<'_, '_, T> {
    fn all(&mut self, steps: &mut [StoredStep]) -> Result<()> {
        let count = steps.len();
        for at in 0..count {
            let at = if self.direction == Direction::Undo { count - 1 - at } else { at };
            match &mut steps[at] {
                // Its own code applies it again, and creates its further steps in the program's form.
                StoredStep::Command(command)
                    if command.direct.is_some() && self.change_state == ChangeState::Done => {}
                StoredStep::Command(command) => self.all(&mut command.further)?,
                StoredStep::Change(step) => self.one(step)?,
            }
        }
        Ok(())
    }

    fn one(&mut self, change: &mut Change) -> Result<()> {
        let Some(key) = change.key() else { return Ok(()) };
        let is_included = self.keys.as_ref().is_none_or(|keys| keys.contains(&key));
        if is_included && self.classes.skips(&key.1)? {
            change.skip();
            return Ok(());
        }
        match change.is_of_fields() {
            _ if !is_included || self.classes.is_same(&key.1) => Ok(()),
            true => self.fields(change, &key),
            false => self.whole(change, key),
        }
    }

    fn fields(&mut self, change: &mut Change, key: &ComponentKey) -> Result<()> {
        let (number, name) = self.classes.known(&key.1)?;
        let stored = self.classes.stored()?;
        let Some(content) = self.contents.get_mut(key) else {
            return Err(wrong("a change without the value before it"));
        };
        let run = |bytes: &[u8], direction: Direction| {
            let changed = all_in_bytes(change.fields(), (&stored, number), bytes, direction);
            changed.map_err(|error| error.in_class(&*key.1))
        };
        // A direct command may have changed the content unnoticed. The step is run both ways, so that its own values
        // are used.
        let end = run(content, self.direction)?;
        let start = run(&end, self.direction.reversed())?;
        content.clone_from(&end);
        let end = self.own(key.0, number, &end)?;
        let start = self.own(key.0, number, &start)?;
        let (target, support) = self.recorded;
        let ends = match self.direction {
            Direction::Redo => (&*start, &*end),
            Direction::Undo => (&*end, &*start),
        };
        change.migrate(support.changes_between(target, (key.0, name), ends)?);
        Ok(())
    }

    fn whole(&mut self, change: &mut Change, key: ComponentKey) -> Result<()> {
        let (number, name) = self.classes.known(&key.1)?;
        let owner = key.0;
        let ChangeKind::World(change) = &mut change.what else { return Ok(()) };
        let puts = change.puts(self.direction);
        match change.content_mut().filter(|_| puts) {
            Some(bytes) => drop(self.contents.insert(key, bytes.clone())),
            None => drop(self.contents.remove(&key)),
        }
        if let Some(bytes) = change.content_mut() {
            *bytes = self.own(owner, number, bytes)?;
        }
        change.set_class(name);
        Ok(())
    }

    /// Converts a content to the program's form.
    ///
    /// If the form cannot hold unknown data, as with an edit of a plain field, the unknown data is dropped.
    fn own(&mut self, owner: Owner, number: usize, bytes: &[u8]) -> Result<Vec<u8>> {
        let (target, support) = self.recorded;
        let (found, of) = (self.classes.migrated(number, bytes)?, (owner, number));
        match support.own_content(target, of, (&found, self.classes.numbers())) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let found = self.classes.migrated_known(number, bytes)?;
                support.own_content(target, of, (&found, self.classes.numbers()))
            }
            own => own,
        }
    }
}

/// Migrates the contents of a journal to the program's classes, by the same plans as saves.
pub(super) struct Programs<'p> {
    commands: Classes<'p>,
    /// The classes of the components and resources, if the target is a world.
    world: Option<Classes<'p>>,
}

impl<'p> Programs<'p> {
    pub(super) fn new(
        commands: &'p Registry,
        world: Option<&'p Registry>,
        options: LoadOptions,
    ) -> Self {
        let world = world.map(|world| Classes { is_world: true, ..Classes::new(world, options) });
        Self { commands: Classes::new(commands, options), world }
    }

    /// The classes of the values whose fields change: those of the world, or of any other target.
    fn of_fields(&mut self) -> &mut Classes<'p> {
        self.world.as_mut().unwrap_or(&mut self.commands)
    }

    /// The report rows of skipped steps, whose classes the program does not have, and of skipped fields.
    fn skipped(&mut self) -> Vec<ReportRow> {
        let mut all = vec![&mut self.commands];
        all.extend(&mut self.world);
        all.iter_mut().for_each(|classes| classes.note_dropped());
        let mut rows: Vec<_> = all.iter().flat_map(|classes| &classes.skipped).collect();
        sort_by(&mut rows, |(a, _), (b, _)| (&a.class, &a.field).cmp(&(&b.class, &b.field)));
        rows.into_iter().map(|(row, count)| ReportRow::new(row, *count, None)).collect()
    }

    /// Reads the classes of the frames that follow.
    fn read(&mut self, program: &StoredProgram) -> Result<()> {
        self.commands.read(&program.commands)?;
        match &mut self.world {
            Some(world) if !program.world.is_empty() => world.read(&program.world),
            _ => Ok(()),
        }
    }

    /// Returns an error for a frame with a class that the program does not have.
    pub(super) fn check<T: 'static>(
        &mut self,
        frame: &Frame<'_>,
        commands: &CommandClasses<T>,
    ) -> Result<()> {
        let steps = match frame.kind {
            FrameKind::Program => return self.read(&read(frame.payload)?),
            FrameKind::Entry => read::<StoredEntry>(frame.payload)?.steps,
            FrameKind::Done | FrameKind::Insignificant | FrameKind::Aside => {
                read::<StoredDone>(frame.payload)?.steps
            }
            _ => return Ok(()),
        };
        steps.iter().try_for_each(|step| self.check_step(step, commands))
    }

    fn check_step<T: 'static>(
        &mut self,
        step: &StoredStep,
        commands: &CommandClasses<T>,
    ) -> Result<()> {
        match step {
            StoredStep::Command(command) => {
                self.command(command.class, commands)?;
                command.further.iter().try_for_each(|step| self.check_step(step, commands))
            }
            StoredStep::Change(change) => match change.class() {
                Some(class) if self.world.is_none() => self.of_fields().known(class).map(drop),
                _ => Ok(()),
            },
        }
    }

    /// The program's class of a command.
    fn command<'c, T: 'static>(
        &self,
        number: u32,
        commands: &'c CommandClasses<T>,
    ) -> Result<&'c CommandClass<T>> {
        let class = self.commands.class(number)?;
        let name = &self.commands.registry.program().classes[class].name;
        commands.get(&class).ok_or_else(|| unregistered(name))
    }

    /// The class of a command, and the command in the program's form.
    fn migrated_command<'c, T: 'static>(
        &mut self,
        mut stored: StoredCommand,
        commands: &'c CommandClasses<T>,
    ) -> Result<(&'c CommandClass<T>, StoredCommand)> {
        let found = self.command(stored.class, commands)?;
        let class = stored.class as usize;
        stored.bytes = self.commands.migrated(class, &stored.bytes)?.into_owned();
        if let Some(previous) = &mut stored.before {
            *previous = self.commands.migrated(class, previous)?.into_owned();
        }
        Ok((found, stored))
    }

    /// Decodes a command, without the steps that it did through its edit.
    fn read_command<T: 'static>(
        &mut self,
        stored: StoredCommand,
        commands: &CommandClasses<T>,
    ) -> Result<Box<Performed<T>>> {
        let (class, stored) = self.migrated_command(stored, commands)?;
        class.read(&stored, self.commands.links())
    }
}

/// The classes of a journal, and their plans for a migration.
struct Classes<'p> {
    registry: &'p Registry,
    options: LoadOptions,
    /// `None` before the first frame with classes.
    found: Option<ResolvedClasses<'p>>,
    /// True for the classes of the components and resources of a world. Steps of unknown classes are skipped.
    is_world: bool,
    /// The steps and fields that were skipped, and how often.
    skipped: HashMap<PlannedRow, u64>,
}

struct ResolvedClasses<'p> {
    plans: Box<Plans<'p>>,
    /// Plans that drop unknown data. Present once a step could not hold it.
    known: Option<Box<Plans<'p>>>,
    /// The program's class for each class of the journal.
    numbers: Vec<Option<usize>>,
    by_name: HashMap<String, usize>,
    /// True for each class whose bytes and paths mean the same in the program.
    same: Vec<bool>,
}

impl<'p> Classes<'p> {
    fn new(registry: &'p Registry, options: LoadOptions) -> Self {
        Self { registry, options, found: None, is_world: false, skipped: HashMap::new() }
    }

    fn read(&mut self, definitions: &[u8]) -> Result<()> {
        let (scan, classes) = scan(definitions, &Limits::DEFAULT)?;
        if !scan.records.is_empty() {
            return Err(wrong("records among its classes"));
        }
        self.note_dropped();
        let count = classes.len();
        let mut plans = Box::new(Plans::new(classes, self.registry.program(), self.options, None));
        plans.keeps_unknown = false;
        let numbers: Vec<_> = (0..count).map(|class| plans.resolve(class)).collect();
        let is_shifted =
            numbers.iter().enumerate().any(|(i, found)| found.is_some_and(|found| found != i));
        let by_name = plans.stored.iter().map(|class| class.name.clone()).zip(0..).collect();
        let found = ResolvedClasses { plans, known: None, numbers, by_name, same: Vec::new() };
        let is_same = |class: usize| {
            let Some(own) = found.numbers[class] else { return false };
            let is_moved = is_shifted && self.registry.traits(own).dynamic;
            found.plans.is_identical(class) && !is_moved && self.has_same_names(&found, class)
        };
        let same = (0..count).map(is_same).collect();
        self.found = Some(ResolvedClasses { same, ..found });
        Ok(())
    }

    /// Links with which commands of the journal are decoded.
    fn links(&self) -> FieldLinks<'_> {
        FieldLinks::of_command(self.registry).numbered(self.numbers())
    }

    /// The program's class for each class of the journal.
    fn numbers(&self) -> Option<&[Option<usize>]> {
        self.found.as_ref().map(|found| &*found.numbers)
    }

    /// The program's class of a command.
    fn class(&self, number: u32) -> Result<usize> {
        let found = self.found()?;
        match found.numbers.get(number as usize) {
            Some(Some(class)) => Ok(*class),
            Some(None) => Err(unregistered(&found.plans.stored[number as usize].name)),
            None => Err(wrong("the number of a class that it does not define")),
        }
    }

    /// Converts a value to the program's form.
    fn migrated<'b>(&mut self, class: usize, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>> {
        let env = self.registry.env();
        let Some(ResolvedClasses { plans, .. }) = &mut self.found else {
            return Err(wrong("no classes"));
        };
        if plans.is_identical(class) {
            return Ok(bytes.into());
        }
        rewritten(plans, class, bytes, &env).map(Cow::from)
    }

    /// Like [`migrated`](Self::migrated), but drops unknown data.
    fn migrated_known(&mut self, class: usize, bytes: &[u8]) -> Result<Vec<u8>> {
        let (env, program) = (self.registry.env(), self.registry.program());
        let options = self.options.drop_unknown(true);
        let found = self.found.as_mut().ok_or_else(|| wrong("no classes"))?;
        let plans = found.known.get_or_insert_with(|| {
            let mut plans = Plans::new(found.plans.stored.to_vec(), program, options, None);
            plans.keeps_unknown = false;
            Box::new(plans)
        });
        rewritten(plans, class, bytes, &env)
    }

    /// True if all bytes and paths of the journal mean the same in the program.
    fn are_same(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.same.iter().all(|same| *same))
    }

    /// True if the bytes and paths of a class mean the same in the program.
    fn is_same(&self, name: &str) -> bool {
        let Some(found) = &self.found else { return false };
        found.by_name.get(name).is_some_and(|class| found.same[*class])
    }

    /// True if a class and the classes in it have the same names in the program, and so have their fields and variants.
    ///
    /// Steps name their fields. Equal bytes are not enough, since a field may have been renamed.
    fn has_same_names(&self, found: &ResolvedClasses<'p>, class: usize) -> bool {
        let are_named = |stored: &[FieldSchema], own: &[FieldSchema]| {
            stored.iter().map(|field| &field.name).eq(own.iter().map(|field| &field.name))
        };
        let (mut seen, mut next) = (HashSet::from([class]), vec![class]);
        while let Some(class) = next.pop() {
            let Some(own) = found.numbers[class] else { return false };
            let (stored, own) = (&found.plans.stored[class], &self.registry.program().classes[own]);
            let is_named = match (&stored.form, &own.form) {
                (Form::Struct(stored), Form::Struct(own)) => are_named(stored, own),
                (Form::Enum(stored), Form::Enum(own)) => {
                    stored.len() == own.len()
                        && stored.iter().zip(own).all(|(stored, own)| {
                            stored.name == own.name && are_named(&stored.fields, &own.fields)
                        })
                }
                (Form::Value(_), Form::Value(_)) => true,
                _ => false,
            };
            if !is_named || stored.name != own.name {
                return false;
            }
            for kind in stored.kinds() {
                kind.visit(&mut |kind| match kind {
                    KindSchema::Class(class) => next.extend(seen.insert(*class).then_some(*class)),
                    KindSchema::Dynamic(name) => {
                        let of = self.registry.trait_classes().find(|(of, _)| **of == **name);
                        let is_of = |class: &usize| {
                            let own = found.numbers[*class];
                            own.zip(of.as_ref()).is_some_and(|(own, (_, of))| of.contains(&own))
                        };
                        let classes = (0..found.numbers.len()).filter(is_of);
                        next.extend(classes.filter(|class| seen.insert(*class)));
                    }
                    _ => {}
                });
            }
        }
        true
    }

    /// True if the program does not have a class, so that its steps are skipped. Each is counted.
    fn skips(&mut self, name: &str) -> Result<bool> {
        let found = self.found()?;
        let class = found.by_name.get(name);
        let skips = self.is_world && class.is_some_and(|class| found.numbers[*class].is_none());
        if skips {
            let detail = if self.registry.is_removed_class(name) { REMOVED } else { "" };
            let (class, field, detail) = (name.into(), "".into(), detail.into());
            self.note_skipped(PlannedRow { event: LoadEvent::Unknown, class, field, detail }, 1);
        }
        Ok(skips)
    }

    fn note_skipped(&mut self, row: PlannedRow, count: u64) {
        *self.skipped.entry(row).or_insert(0) += count;
    }

    /// Counts the fields that were dropped because steps, or the values that they change, have no room for unknown
    /// data.
    fn note_dropped(&mut self) {
        let Some(found) = &mut self.found else { return };
        let known = found.known.take();
        let mut dropped = HashMap::new();
        // A step that could not hold unknown data has run by both plans.
        for (row, run) in found.plans.events().chain(known.iter().flat_map(|plans| plans.events()))
        {
            if row.event == LoadEvent::Dropped {
                let count = dropped.entry(row).or_insert(0);
                *count = run.count.max(*count);
            }
        }
        dropped.into_iter().for_each(|(row, count)| self.note_skipped(row, count));
    }

    /// The number of a class in the journal, and its name in the program.
    fn known(&self, name: &str) -> Result<(usize, &'p str)> {
        let found = self.found()?;
        let class = found.by_name.get(name).copied();
        let class = class.ok_or_else(|| wrong("the name of a class that it does not define"))?;
        let own = found.numbers[class]
            .ok_or_else(|| wrong("a change of a class that its program does not have"))?;
        Ok((class, &self.registry.program().classes[own].name))
    }

    /// The classes that the journal has.
    fn stored(&self) -> Result<Arc<Stored>> {
        Ok(Arc::clone(&self.found()?.plans.stored))
    }

    fn found(&self) -> Result<&ResolvedClasses<'p>> {
        self.found.as_ref().ok_or_else(|| wrong("no classes"))
    }
}

/// Converts a value of a stored class to the program's class.
fn rewritten(plans: &mut Plans<'_>, class: usize, bytes: &[u8], env: &Env<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
    let source = SourceRecord { class, id: 1, payload: bytes, unknown: &[] };
    transcode(plans, &source, &|_, _, _| None, &mut 2, env, &mut out).map_err(|error| {
        let name = &plans.stored[class].name;
        error.in_class(&**name)
    })?;
    Ok(out)
}

#[cold]
fn unregistered(name: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "the journal has a command of class {name}, which is not registered; call `register_command` with it on the `SessionOptions`"
        ),
    )
}
