//! Steps that another program recorded, as steps of this one.
//!
//! A step of a field has that field alone, while a plan takes a whole record: a migration may make one field of two. So the component is followed
//! as that program stored it. The journal has it when it is changed first, and again after everything that changes
//! components other than steps of fields. Both versions, before and after a step, are migrated; where they differ is what
//! the step does here. A target that is no world is followed as a whole; so are its undos, after which it is not repeated.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::commands::{CommandClass, CommandClasses};
use super::frame::{Frame, FrameKind};
use super::stored::{
    StoredCommand, StoredDone, StoredEntry, StoredProgram, StoredStep, read, wrong,
};
use crate::env::Env;
use crate::fields::{Direction, FieldLinks};
use crate::format::scan;
use crate::graph::Registry;
use crate::history::edit::{Performed, Step};
use crate::history::support::Support;
use crate::save::ReportRow;
use crate::schema::{
    FieldSchema, Form, KindSchema, LoadEvent, PlannedRow, Plans, REMOVED, SourceRecord, Stored,
    transcode,
};
use crate::sorting::sort_by;
use crate::world::{Change, ChangeState, Owner, all_in_bytes};
use crate::{Error, ErrorKind, Limits, LoadOptions, Result};

/// A component of an object, a resource or another target, by its class where it was recorded.
pub(super) type ComponentKey = (Owner, String);

/// What components and resources were where they were recorded.
#[derive(Default)]
pub(super) struct RecordedComponents {
    /// At the point that a replay has come to.
    known: HashMap<ComponentKey, Vec<u8>>,
    /// After the edit that comes next.
    next: HashMap<ComponentKey, Vec<u8>>,
}

impl RecordedComponents {
    /// Notes what something is after the edit that comes next.
    pub(super) fn enter(&mut self, key: ComponentKey, bytes: Vec<u8>) {
        self.next.insert(key, bytes);
    }

    /// Forgets all, after a change of components other than by steps of fields.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Follows the steps of an entry that is undone or redone; forgets all if they do more than set fields.
    pub(super) fn follow<T: 'static>(
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

    /// Brings the steps of an edit on.
    pub(super) fn bring_on<T: 'static>(
        &mut self,
        steps: &mut [StoredStep],
        classes: &mut Classes<'_>,
        recorded: (&T, &Support<T>),
    ) -> Result<()> {
        let mut next = std::mem::take(&mut self.next);
        let behind = next.clone();
        // Classes may have other names in steps that have been brought on.
        let mut keys = HashSet::new();
        for step in &*steps {
            step.each(&mut |change| keys.extend(change.key()));
        }
        let goes_forth =
            |key: &ComponentKey| self.known.contains_key(key) && !behind.contains_key(key);
        let (forth, back): (HashSet<ComponentKey>, HashSet<ComponentKey>) =
            keys.into_iter().partition(goes_forth);
        let (contents, direction) = (&mut self.known, Direction::Redo);
        let (keys, change_state) = (Some(forth), ChangeState::Done);
        let mut run = Evolution { classes, recorded, contents, keys, direction, change_state };
        run.all(steps)?;
        (run.contents, run.keys, run.direction) = (&mut next, Some(back), Direction::Undo);
        run.all(steps)?;
        self.known.extend(behind);
        Ok(())
    }

    /// Migrates the steps of the entries that a journal begins with; those before a position are applied.
    pub(super) fn bring_on_entries<'s, T: 'static>(
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

struct Evolution<'e, 'p, T: 'static> {
    classes: &'e mut Classes<'p>,
    /// The target, and what reads its contents.
    recorded: (&'e T, &'e Support<T>),
    /// What is known at the current step: before it, or after it.
    contents: &'e mut HashMap<ComponentKey, Vec<u8>>,
    /// The steps that are migrated are about these; `None` for all.
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
                // It is done anew by its own code.
                StoredStep::Command(command)
                    if command.is_direct && self.change_state == ChangeState::Done => {}
                StoredStep::Command(command) => self.all(&mut command.further)?,
                StoredStep::Change(step) => self.one(step)?,
            }
        }
        Ok(())
    }

    fn one(&mut self, change: &mut Change) -> Result<()> {
        let Some(key) = change.key() else { return Ok(()) };
        let is_it = self.keys.as_ref().is_none_or(|keys| keys.contains(&key));
        if is_it && self.classes.skips(&key.1)? {
            change.skip();
            return Ok(());
        }
        match change.is_of_fields() {
            _ if !is_it || self.classes.is_same(&key.1) => Ok(()),
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
        // A command may have changed what is known of it otherwise: the step has what it took away, and what it put there.
        let there = run(content, self.direction)?;
        let back = run(&there, self.direction.reversed())?;
        content.clone_from(&there);
        let there = self.own(key.0, number, &there)?;
        let back = self.own(key.0, number, &back)?;
        let (target, support) = self.recorded;
        let ends = match self.direction {
            Direction::Redo => (&*back, &*there),
            Direction::Undo => (&*there, &*back),
        };
        change.migrate(support.changes_between(target, (key.0, name), ends)?);
        Ok(())
    }

    fn whole(&mut self, change: &mut Change, key: ComponentKey) -> Result<()> {
        let (number, name) = self.classes.known(&key.1)?;
        let owner = key.0;
        let puts = change.puts(self.direction);
        let Some(detached) = change.detached_mut() else { return Ok(()) };
        match detached.content().filter(|_| puts) {
            Some(bytes) => drop(self.contents.insert(key, bytes.to_vec())),
            None => drop(self.contents.remove(&key)),
        }
        if let Some(bytes) = detached.content_mut() {
            *bytes = self.own(owner, number, bytes)?;
        }
        detached.set_class(name);
        Ok(())
    }

    /// A content in the form that it has here. If it can hold no unknown data, it is without it.
    fn own(&mut self, owner: Owner, number: usize, bytes: &[u8]) -> Result<Vec<u8>> {
        let (target, support) = self.recorded;
        let (found, of) = (self.classes.bring_on(number, bytes)?, (owner, number));
        match support.own_content(target, of, (&found, self.classes.numbers())) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let found = self.classes.bring_on_known(number, bytes)?;
                support.own_content(target, of, (&found, self.classes.numbers()))
            }
            own => own,
        }
    }
}

/// Brings what a journal holds on to the program's classes, by the same plans as saves.
pub(super) struct Programs<'p> {
    pub(super) commands: Classes<'p>,
    /// Of the components and resources of a world, if the target is one.
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

    /// The classes of what has the fields that changes are of.
    pub(super) fn of_fields(&mut self) -> &mut Classes<'p> {
        self.world.as_mut().unwrap_or(&mut self.commands)
    }

    /// What was skipped of components and resources: steps of classes that the program does not have, and fields.
    pub(super) fn skipped(&mut self) -> Vec<ReportRow> {
        let Some(world) = &mut self.world else { return Vec::new() };
        world.note_dropped();
        let mut rows: Vec<_> = world.skipped.iter().collect();
        sort_by(&mut rows, |(a, _), (b, _)| (&a.class, &a.field).cmp(&(&b.class, &b.field)));
        rows.into_iter().map(|(row, count)| ReportRow::new(row, *count, None)).collect()
    }

    /// Reads which classes the frames are of from here on.
    pub(super) fn read(&mut self, program: &StoredProgram) -> Result<()> {
        self.commands.read(&program.commands)?;
        match &mut self.world {
            Some(world) if !program.world.is_empty() => world.read(&program.world),
            _ => Ok(()),
        }
    }

    /// Refuses a frame with something of a class that the program does not have.
    pub(super) fn check<T: 'static>(
        &mut self,
        frame: &Frame<'_>,
        commands: &CommandClasses<T>,
    ) -> Result<()> {
        let steps = match frame.kind {
            FrameKind::Program => return self.read(&read(frame.payload)?),
            FrameKind::Entry => read::<StoredEntry>(frame.payload)?.steps,
            FrameKind::Done => read::<StoredDone>(frame.payload)?.steps,
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

    /// The class of a command, and the command in the form that the program has.
    pub(super) fn brought_on<'c, T: 'static>(
        &mut self,
        mut stored: StoredCommand,
        commands: &'c CommandClasses<T>,
    ) -> Result<(&'c CommandClass<T>, StoredCommand)> {
        let found = self.command(stored.class, commands)?;
        let class = stored.class as usize;
        stored.bytes = self.commands.bring_on(class, &stored.bytes)?.into_owned();
        if let Some(before) = &mut stored.before {
            *before = self.commands.bring_on(class, before)?.into_owned();
        }
        Ok((found, stored))
    }

    /// A command as it was, without what it did through its context.
    pub(super) fn read_command<T: 'static>(
        &mut self,
        stored: StoredCommand,
        commands: &CommandClasses<T>,
    ) -> Result<Box<Performed<T>>> {
        let (class, stored) = self.brought_on(stored, commands)?;
        class.read(&stored, self.commands.links())
    }
}

pub(super) struct Classes<'p> {
    registry: &'p Registry,
    options: LoadOptions,
    /// `None` before the journal says which classes it has.
    found: Option<ResolvedClasses<'p>>,
    /// True for the classes of the components and resources of a world, which it can be without.
    is_world: bool,
    /// What was skipped, and how often.
    skipped: HashMap<PlannedRow, u64>,
}

struct ResolvedClasses<'p> {
    plans: Box<Plans<'p>>,
    /// The plans that drop unknown data, once a step cannot hold it.
    known: Option<Box<Plans<'p>>>,
    /// Which of the program's classes those of each number are.
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
        if scan.records.len() > 0 {
            return Err(wrong("records among its classes"));
        }
        self.note_dropped();
        let count = classes.len();
        let mut plans = Box::new(Plans::new(classes, self.registry.program(), self.options, None));
        plans.aside = false;
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

    /// What commands of the journal are read with.
    pub(super) fn links(&self) -> FieldLinks<'_> {
        FieldLinks::of_command(self.registry).numbered(self.numbers())
    }

    /// Which of the program's classes those of each number are, if that is not the same.
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

    /// A value of a class in the form that the program has.
    pub(super) fn bring_on<'b>(&mut self, class: usize, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>> {
        let env = self.registry.env();
        let Some(ResolvedClasses { plans, .. }) = &mut self.found else {
            return Err(wrong("no classes"));
        };
        if plans.is_identical(class) {
            return Ok(bytes.into());
        }
        rewritten(plans, class, bytes, &env).map(Cow::from)
    }

    /// Like [`bring_on`](Self::bring_on), without what the program does not have.
    fn bring_on_known(&mut self, class: usize, bytes: &[u8]) -> Result<Vec<u8>> {
        let (env, program) = (self.registry.env(), self.registry.program());
        let options = self.options.drop_unknown(true);
        let found = self.found.as_mut().ok_or_else(|| wrong("no classes"))?;
        let plans = found.known.get_or_insert_with(|| {
            let mut plans = Plans::new(found.plans.stored.to_vec(), program, options, None);
            plans.aside = false;
            Box::new(plans)
        });
        rewritten(plans, class, bytes, &env)
    }

    /// True if all bytes and paths mean the same in the program.
    pub(super) fn are_same(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.same.iter().all(|same| *same))
    }

    /// True if those of a class of this name do.
    pub(super) fn is_same(&self, name: &str) -> bool {
        let Some(found) = &self.found else { return false };
        found.by_name.get(name).is_some_and(|class| found.same[*class])
    }

    /// True if a class and those inside of it have the names that they have in the program, and so have their fields and
    /// variants. Steps know fields by their names, while equal bytes may be of fields that have other ones now.
    fn has_same_names(&self, found: &ResolvedClasses<'p>, class: usize) -> bool {
        let are_named = |stored: &[FieldSchema], own: &[FieldSchema]| {
            stored.iter().map(|field| &field.name).eq(own.iter().map(|field| &field.name))
        };
        let (mut met, mut next) = (HashSet::from([class]), vec![class]);
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
                    KindSchema::Class(class) => next.extend(met.insert(*class).then_some(*class)),
                    KindSchema::Dynamic(name) => {
                        let of = self.registry.trait_classes().find(|(of, _)| **of == **name);
                        let is_of = |class: &usize| {
                            let own = found.numbers[*class];
                            own.zip(of.as_ref()).is_some_and(|(own, (_, of))| of.contains(&own))
                        };
                        let classes = (0..found.numbers.len()).filter(is_of);
                        next.extend(classes.filter(|class| met.insert(*class)));
                    }
                    _ => {}
                });
            }
        }
        true
    }

    /// True if a step of a class of this name is skipped, as the program does not have it; it is counted.
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

    /// Notes which fields were dropped since steps cannot hold unknown data.
    fn note_dropped(&mut self) {
        let plans = self.found.as_mut().and_then(|found| found.known.take());
        for (row, run) in plans.iter().flat_map(|plans| plans.events()) {
            if row.event == LoadEvent::Dropped {
                self.note_skipped(row, run.count);
            }
        }
    }

    /// The number of a class of this name, and the name that it has in the program.
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

/// A value of a stored class as one of the program's.
fn rewritten(plans: &mut Plans<'_>, class: usize, bytes: &[u8], env: &Env<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
    let source = SourceRecord { class, id: 1, payload: bytes, kept: &[] };
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
            "the journal has a command of class {name}, which is not registered; call `register` with it on the `SessionOptions`"
        ),
    )
}
