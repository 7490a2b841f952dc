use std::rc::Rc;

use super::{ClassSchema, FieldSchema, Form, KindSchema};
use crate::codec::ClassAccess;
use crate::reflect::{Class, FieldRecord};
use crate::{Error, ErrorKind, Result};

/// The program's classes: their schema, and how to reach their fields.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub(crate) classes: Vec<ClassSchema>,
    /// For each class; classes of bare values have none.
    pub(crate) targets: Vec<Option<Target>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) class: &'static Class,
    pub(crate) access: &'static dyn ClassAccess,
}

/// Something that a plan did to records, for the report.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) class: String,
    pub(crate) field: String,
    /// True if the field got its default, false if a stored one was dropped.
    pub(crate) defaulted: bool,
    /// The plan that does it.
    run: usize,
}

/// How the records of one class become the program's: the fields of the
/// program's class in order, each from the save or from its default.
pub(crate) enum Plan {
    Struct(Fields),
    /// By stored variant; `None` where the program has it no more.
    Enum(Vec<Option<(usize, Fields)>>),
    Value,
}

pub(crate) struct Fields {
    /// The stored fields that have bytes, in stored order.
    pub(crate) walk: Vec<Walked>,
    /// The program's fields that have bytes, in the program's order.
    pub(crate) steps: Vec<Step>,
    /// Where it is counted how often the plan ran.
    pub(crate) run: usize,
}

pub(crate) struct Walked {
    /// Index of the stored field.
    pub(crate) field: usize,
    /// True if there are changed classes inside, and the program has the field.
    pub(crate) rewrite: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// What the walk has made of its stored field of this index.
    Take(usize),
    /// The default of the program's field.
    Default { variant: usize, field: usize },
}

/// How often a plan ran, and the id of the first object.
#[derive(Clone, Copy, Default)]
pub(crate) struct Run {
    pub(crate) count: u64,
    pub(crate) first: u64,
}

/// The plans for the classes of one save.
pub(crate) struct Plans<'p> {
    pub(crate) stored: Rc<Vec<ClassSchema>>,
    pub(crate) program: &'p Program,
    /// The program's class for each stored one.
    resolved: Vec<Option<usize>>,
    identical: Vec<bool>,
    plans: Vec<Option<Rc<Plan>>>,
    events: Vec<Event>,
    pub(crate) runs: Vec<Run>,
    /// Elements without bytes that were rewritten so far.
    pub(crate) empty_elements: u64,
}

impl<'p> Plans<'p> {
    pub(crate) fn new(stored: Vec<ClassSchema>, program: &'p Program) -> Self {
        let resolved: Vec<_> = stored.iter().map(|class| program.find(class)).collect();
        let identical = resolved.iter().map(Option::is_some).collect();
        let plans = stored.iter().map(|_| None).collect();
        let mut this = Self {
            stored: Rc::new(stored),
            program,
            resolved,
            identical,
            plans,
            events: Vec::new(),
            runs: Vec::new(),
            empty_elements: 0,
        };
        // A bare value has no alias of its own: with a renamed class inside it
        // is the program's value of the same kind. A value may mention another.
        let mut found = true;
        while std::mem::take(&mut found) {
            for stored in 0..this.stored.len() {
                if let Some(class) = this.renamed_value(stored) {
                    this.resolved[stored] = Some(class);
                    this.identical[stored] = true;
                    found = true;
                }
            }
        }
        // All are identical until one is found that is not; then those that
        // hold it are not, and so on.
        while let Some(changed) =
            (0..this.stored.len()).find(|class| this.identical[*class] && !this.is_same(*class))
        {
            this.identical[changed] = false;
        }
        this
    }

    fn renamed_value(&self, stored: usize) -> Option<usize> {
        let (None, Form::Value(kind)) = (self.resolved[stored], &self.stored[stored].form) else {
            return None;
        };
        if !self.mentions_renamed(kind) {
            return None;
        }
        self.program.classes.iter().position(
            |class| matches!(&class.form, Form::Value(other) if self.is_compatible(kind, other)),
        )
    }

    fn mentions_renamed(&self, kind: &KindSchema) -> bool {
        match kind {
            KindSchema::Option(part)
            | KindSchema::List(part)
            | KindSchema::Set(part)
            | KindSchema::Array(part, _) => self.mentions_renamed(part),
            KindSchema::Map(parts) => {
                self.mentions_renamed(&parts.0) || self.mentions_renamed(&parts.1)
            }
            KindSchema::Tuple(parts) => parts.iter().any(|part| self.mentions_renamed(part)),
            KindSchema::Class(class) | KindSchema::Reference { class, .. } => self.resolved[*class]
                .is_some_and(|found| self.program.classes[found].id != self.stored[*class].id),
            _ => false,
        }
    }

    /// The program's class for a stored one.
    pub(crate) fn resolve(&self, class: usize) -> Option<usize> {
        self.resolved[class]
    }

    /// True if the records of a stored class are as the program would write them.
    pub(crate) fn is_identical(&self, class: usize) -> bool {
        self.identical[class]
    }

    fn is_same(&self, class: usize) -> bool {
        let Some(target) = self.resolved[class] else { return false };
        let same_fields = |stored: &[FieldSchema], compiled: &[FieldSchema]| {
            stored.len() == compiled.len()
                && stored
                    .iter()
                    .zip(compiled)
                    .all(|(a, b)| a.name == b.name && self.is_unchanged(&a.kind, &b.kind))
        };
        match (&self.stored[class].form, &self.program.classes[target].form) {
            (Form::Struct(stored), Form::Struct(compiled)) => same_fields(stored, compiled),
            (Form::Enum(stored), Form::Enum(compiled)) => {
                stored.len() == compiled.len()
                    && stored
                        .iter()
                        .zip(compiled)
                        .all(|(a, b)| a.name == b.name && same_fields(&a.fields, &b.fields))
            }
            (Form::Value(stored), Form::Value(compiled)) => self.is_unchanged(stored, compiled),
            _ => false,
        }
    }

    /// True if values of the two kinds have the same bytes.
    fn is_unchanged(&self, stored: &KindSchema, compiled: &KindSchema) -> bool {
        self.is_compatible(stored, compiled) && self.has_identical_classes(stored)
    }

    /// True if the two kinds differ at most in the fields of classes inside.
    fn is_compatible(&self, stored: &KindSchema, compiled: &KindSchema) -> bool {
        match (stored, compiled) {
            (KindSchema::Option(a), KindSchema::Option(b))
            | (KindSchema::List(a), KindSchema::List(b))
            | (KindSchema::Set(a), KindSchema::Set(b)) => self.is_compatible(a, b),
            (KindSchema::Map(a), KindSchema::Map(b)) => {
                self.is_compatible(&a.0, &b.0) && self.is_compatible(&a.1, &b.1)
            }
            (KindSchema::Array(a, n), KindSchema::Array(b, m)) => {
                n == m && self.is_compatible(a, b)
            }
            (KindSchema::Tuple(a), KindSchema::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_compatible(a, b))
            }
            (KindSchema::Class(a), KindSchema::Class(b)) => self.resolved[*a] == Some(*b),
            (
                KindSchema::Reference { holder, weak, class },
                KindSchema::Reference { holder: holder_b, weak: weak_b, class: class_b },
            ) => holder == holder_b && weak == weak_b && self.resolved[*class] == Some(*class_b),
            (a, b) => a == b,
        }
    }

    pub(crate) fn has_identical_classes(&self, stored: &KindSchema) -> bool {
        match stored {
            KindSchema::Option(a)
            | KindSchema::List(a)
            | KindSchema::Set(a)
            | KindSchema::Array(a, _) => self.has_identical_classes(a),
            KindSchema::Map(parts) => {
                self.has_identical_classes(&parts.0) && self.has_identical_classes(&parts.1)
            }
            KindSchema::Tuple(parts) => parts.iter().all(|part| self.has_identical_classes(part)),
            KindSchema::Class(class) => self.identical[*class],
            _ => true,
        }
    }

    /// The plan for a stored class that the program has; made once.
    pub(crate) fn plan(&mut self, class: usize) -> Result<Rc<Plan>> {
        if let Some(plan) = &self.plans[class] {
            return Ok(plan.clone());
        }
        let plan = Rc::new(self.compile(class)?);
        self.plans[class] = Some(plan.clone());
        Ok(plan)
    }

    fn compile(&mut self, class: usize) -> Result<Plan> {
        let Some(index) = self.resolved[class] else {
            return Err(Error::new(
                ErrorKind::NotFound,
                "the program does not have this class; register it",
            ));
        };
        let program = self.program;
        let all = self.stored.clone();
        let (stored, compiled) = (&all[class], &program.classes[index]);
        match (&stored.form, &compiled.form, program.targets[index]) {
            (Form::Struct(old), Form::Struct(new), Some(target)) => {
                self.fields(&stored.name, "", old, new, target.class.fields(), 0).map(Plan::Struct)
            }
            (Form::Enum(old), Form::Enum(new), Some(target)) => {
                let records = target.class.variants();
                let mut plans = Vec::new();
                for variant in old {
                    let found = new
                        .iter()
                        .position(|candidate| candidate.name == variant.name)
                        .or_else(|| {
                            records
                                .iter()
                                .position(|record| record.aliases.contains(&&*variant.name))
                        });
                    plans.push(match found {
                        Some(i) => {
                            let path = format!("{}.", variant.name);
                            let fields = self.fields(
                                &stored.name,
                                &path,
                                &variant.fields,
                                &new[i].fields,
                                records[i].fields,
                                i,
                            )?;
                            Some((i, fields))
                        }
                        None => None,
                    });
                }
                Ok(Plan::Enum(plans))
            }
            (Form::Value(old), Form::Value(new), _) if self.is_compatible(old, new) => {
                Ok(Plan::Value)
            }
            _ => {
                let what = |class: &ClassSchema| match class.form {
                    Form::Struct(_) => "a struct",
                    Form::Enum(_) => "an enum",
                    Form::Value(_) => "a bare value",
                };
                Err(Error::new(
                    ErrorKind::KindMismatch,
                    format!(
                        "the save holds {} where the program has {}",
                        what(stored),
                        what(compiled)
                    ),
                ))
            }
        }
    }

    fn fields(
        &mut self,
        class: &str,
        path: &str,
        old: &[FieldSchema],
        new: &[FieldSchema],
        records: &[FieldRecord],
        variant: usize,
    ) -> Result<Fields> {
        let run = self.runs.len();
        self.runs.push(Run::default());
        let stored = self.stored.clone();
        let mut walk: Vec<Walked> = Vec::new();
        // Place in the walk, by stored field; fields without bytes have none.
        let mut places = vec![None; old.len()];
        for (field, schema) in old.iter().enumerate() {
            if !schema.kind.is_empty(&stored) {
                places[field] = Some(walk.len());
                walk.push(Walked { field, rewrite: false });
            }
        }
        let mut taken = vec![false; old.len()];
        let mut steps = Vec::new();
        for (i, (field, record)) in new.iter().zip(records).enumerate() {
            let path = format!("{path}{}", field.name);
            let found = old.iter().position(|stored| stored.name == field.name).or_else(|| {
                let is_alias = |stored: &FieldSchema| record.aliases.contains(&&*stored.name);
                old.iter().position(is_alias)
            });
            match found {
                Some(stored) => {
                    taken[stored] = true;
                    let kind = &old[stored].kind;
                    if !self.is_compatible(kind, &field.kind) {
                        return Err(self.mismatch(class, kind, field).in_field(&path));
                    }
                    let rewrite = !self.has_identical_classes(kind);
                    let place = *places[stored].get_or_insert_with(|| {
                        // Without bytes in the save, but perhaps with some in the program.
                        walk.push(Walked { field: stored, rewrite });
                        walk.len() - 1
                    });
                    walk[place].rewrite = rewrite;
                    steps.push(Step::Take(place));
                }
                None if record.flags.default => {
                    self.events.push(Event {
                        class: class.to_owned(),
                        field: path,
                        defaulted: true,
                        run,
                    });
                    steps.push(Step::Default { variant, field: i });
                }
                None => {
                    return Err(Error::new(
                        ErrorKind::MissingField,
                        format!(
                            "the save does not have field {} of {class}; give it `#[persist(default)]`, or `#[persist(alias = \"old name\")]` if it was renamed",
                            field.name
                        ),
                    )
                    .in_field(&path));
                }
            }
        }
        for (field, _) in old.iter().zip(taken).filter(|(_, taken)| !taken) {
            let field = format!("{path}{}", field.name);
            self.events.push(Event { class: class.to_owned(), field, defaulted: false, run });
        }
        Ok(Fields { walk, steps, run })
    }

    /// What was done to records that the save has, and how often.
    pub(crate) fn events(&mut self) -> impl Iterator<Item = (Event, Run)> {
        let runs = &self.runs;
        let counted = self.events.drain(..).map(|event| (runs[event.run], event));
        counted.filter(|(run, _)| run.count > 0).map(|(run, event)| (event, run))
    }

    fn mismatch(&self, class: &str, stored: &KindSchema, wanted: &FieldSchema) -> Error {
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "the save holds {} where field {} of {class} is {}; keep the old type, or store it through `#[persist(with = module)]`",
                stored.display(&self.stored),
                wanted.name,
                wanted.kind.display(&self.program.classes)
            ),
        )
    }
}

impl Program {
    /// The class that a stored one is: of the same id, else of an alias.
    fn find(&self, stored: &ClassSchema) -> Option<usize> {
        self.classes.iter().position(|class| class.id == stored.id).or_else(|| {
            self.targets.iter().position(|target| {
                target.is_some_and(|target| target.class.aliases.contains(&&*stored.name))
            })
        })
    }
}
