//! Structs whose fields have no parts that must be opened: most records, in a loop of their own.

use super::{Frame, KeptPlace, Transcoder};
use crate::schema::Form;
use crate::schema::conversion::Conversion;
use crate::schema::frames::LONGEST_PATH;
use crate::schema::pass::Pass;
use crate::schema::plan::{Action, FLAT_FIELDS, Fields, Plan, Step, Walked};
use crate::schema::walk::fault;
use crate::{Error, Result};

/// What a field that is kept takes, in memory and in time, beside its bytes.
const KEPT: usize = 256;

impl<'t> Transcoder<'t, '_, '_> {
    /// Rewrites `count` elements, if they are flat structs; else false.
    pub(super) fn flat_records(
        &mut self,
        of: usize,
        count: u64,
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<bool> {
        let Conversion::Class(class, target) = self.plans.conversions[of] else { return Ok(false) };
        let plan = self.plans.plan(class, target)?;
        let Plan::Struct(fields) = &*plan else { return Ok(false) };
        if !fields.flat || self.stored.node(self.stored.root(class)).least == 0 {
            return Ok(false);
        }
        self.count_record()?;
        self.plans.count_newer(class, count, self.id);
        let place = if self.is_object() { 1 } else { 2 };
        self.plans.events.count_all(fields.runs[0], count, self.id);
        self.plans.events.count_all(fields.runs[place], count, self.id);
        let first = self.quick_records(fields, count)?;
        for next in first..count {
            if let Err(error) = self.flat_fields(class, target, fields) {
                // It says which of them.
                frames.push(Frame::Elements { of, next: next + 1, count });
                return Err(error);
            }
        }
        self.end_record();
        Ok(true)
    }

    /// Rewrites the first of `count` records, if the plan has a quick way; returns how many.
    fn quick_records(&mut self, plan: &Fields, count: u64) -> Result<u64> {
        let Some(quick) = &plan.quick else { return Ok(0) };
        let mut rest = self.input.rest();
        let done = quick.run(count, &mut rest, self.out);
        self.input.go_back(rest);
        self.check(self.out.len())?;
        Ok(done)
    }

    /// Rewrites a flat struct.
    pub(super) fn flat_record(&mut self, class: usize, target: usize, plan: &Fields) -> Result<()> {
        self.count_record()?;
        let place = if self.is_object() { 1 } else { 2 };
        self.plans.events.count(plan.runs[0], self.id);
        self.plans.events.count(plan.runs[place], self.id);
        self.flat_fields(class, target, plan)?;
        self.end_record();
        Ok(())
    }

    fn flat_fields(&mut self, class: usize, target: usize, plan: &Fields) -> Result<()> {
        if self.quick_records(plan, 1)? == 1 {
            return Ok(());
        }
        let kept = self.kept.len();
        if plan.ordered {
            self.flat_in_order(class, target, plan, kept)?;
        } else {
            let mut pieces: [&[u8]; FLAT_FIELDS] = [&[]; FLAT_FIELDS];
            for (walked, piece) in plan.walk.iter().zip(&mut pieces) {
                let bytes = self.flat_bytes(walked, plan);
                *piece = bytes.map_err(|error| self.in_flat_field(error, class, walked.field))?;
            }
            let behind = self.input.rest();
            for step in &plan.steps {
                let Step::Take(place) = *step else {
                    self.append(target, *step, kept)?;
                    continue;
                };
                let bytes = pieces[place];
                let walked = &plan.walk[place];
                let Action::Convert { conversion, .. } = walked.action else {
                    self.out.extend_from_slice(bytes);
                    continue;
                };
                self.input.go_back(bytes);
                self.leaf(conversion)
                    .map_err(|error| self.in_flat_field(error, class, walked.field))?;
            }
            self.input.go_back(behind);
        }
        self.kept.truncate(kept);
        Ok(())
    }

    fn flat_in_order(
        &mut self,
        class: usize,
        target: usize,
        plan: &Fields,
        kept: usize,
    ) -> Result<()> {
        let mut step = 0;
        for walked in &plan.walk {
            if let Action::Copy { .. } | Action::Convert { .. } = walked.action {
                step = self.flat_defaults(target, plan, step, kept)? + 1;
            }
            let result = match walked.action {
                Action::Convert { conversion, .. } => self.leaf(conversion),
                Action::Copy { .. } => {
                    self.flat_bytes(walked, plan).map(|bytes| self.out.extend_from_slice(bytes))
                }
                _ => self.flat_bytes(walked, plan).map(drop),
            };
            result.map_err(|error| self.in_flat_field(error, class, walked.field))?;
        }
        self.flat_defaults(target, plan, step, kept).map(drop)
    }

    /// Appends the defaults from a step on; returns the next that takes a field.
    fn flat_defaults(
        &mut self,
        target: usize,
        plan: &Fields,
        mut step: usize,
        kept: usize,
    ) -> Result<usize> {
        while let Some(next) = plan.steps.get(step).filter(|step| !matches!(step, Step::Take(_))) {
            self.append(target, *next, kept)?;
            step += 1;
        }
        Ok(step)
    }

    /// Appends a field that the save does not have.
    pub(super) fn append(&mut self, target: usize, step: Step, kept: usize) -> Result<()> {
        self.make(target, step, kept)?;
        self.check(self.out.len() + self.defaults.len())?;
        self.out.extend_from_slice(self.defaults.bytes());
        Ok(())
    }

    /// Takes the bytes of a field.
    fn flat_bytes(&mut self, walked: &Walked, plan: &Fields) -> Result<&'t [u8]> {
        let bytes = self.passed(walked)?;
        if let Action::Keep { class, .. } = walked.action {
            self.keep_field(class, bytes, plan)?;
        }
        Ok(bytes)
    }

    /// The bytes of what is walked over.
    pub(super) fn passed(&mut self, walked: &Walked) -> Result<&'t [u8]> {
        let whole = self.input.rest();
        if let Some(passes) = &walked.passes {
            let over = |pass: &Pass| self.stored.passes.over(*pass, &mut self.input);
            if passes.iter().try_for_each(over).is_ok() {
                return Ok(&whole[..whole.len() - self.input.rest().len()]);
            }
            // The way with frames says where it fails.
            self.input.go_back(whole);
        }
        match walked.action {
            Action::Copy { first, nodes, width } | Action::Skip { first, nodes, width } => {
                self.taken(first, nodes, width)
            }
            Action::Convert { node, .. } | Action::Keep { node, .. } => self.taken(node, 1, None),
        }
    }

    /// Keeps a field that the program does not have, where there is room for it.
    pub(super) fn keep_field(
        &mut self,
        class: usize,
        bytes: &'t [u8],
        plan: &Fields,
    ) -> Result<()> {
        self.plans.reader(&self.env.limits).charge(1, KEPT)?;
        if plan.room {
            self.kept.push((class, bytes));
        } else if self.is_object() {
            let end = self.length - self.input.rest().len();
            let place = KeptPlace::Payload(end - bytes.len()..end);
            self.rest.kept.push((class, place));
        }
        Ok(())
    }

    /// Rewrites a value that needs no frames.
    fn leaf(&mut self, conversion: usize) -> Result<()> {
        match self.plans.conversions[conversion] {
            Conversion::Bytes(width) => {
                let bytes = self.input.take(width).map_err(fault)?;
                self.out.extend_from_slice(bytes);
                Ok(())
            }
            Conversion::Copy(node) => self.copy(node, 1, None),
            Conversion::Number { from, to, clamped } => self.number(from, to, clamped),
            Conversion::Option(of) => {
                let some = self.input.value::<bool>().map_err(fault)?;
                self.out.push(u8::from(some));
                if some { self.leaf(of) } else { Ok(()) }
            }
            Conversion::Some(of) => {
                self.out.push(1);
                self.leaf(of)
            }
            Conversion::Parts(first, len) => {
                (first..first + len).try_for_each(|part| self.leaf(self.plans.parts[part]))
            }
            Conversion::Elements { least, of, from, to } => {
                let count = self.length(least, from, to)?;
                if self.numbers(of, count)? {
                    return Ok(());
                }
                for i in 0..count {
                    self.leaf(of).map_err(|error| error.in_field(&format!("[{i}]")))?;
                }
                Ok(())
            }
            // A plan is flat only if it has no others.
            _ => Err(fault(crate::codec::Fail::Value)),
        }
    }

    /// An error in a field of a flat struct.
    #[cold]
    fn in_flat_field(&mut self, error: Error, class: usize, field: usize) -> Error {
        let mut path = String::new();
        for frame in self.skipped.drain(..) {
            if path.len() <= LONGEST_PATH {
                frame.name(&mut path);
            }
        }
        let name = match &self.stored[class].form {
            Form::Struct(fields) => fields.get(field).map_or("", |field| &field.name),
            _ => "",
        };
        error.in_field(&path).in_field(name)
    }
}
