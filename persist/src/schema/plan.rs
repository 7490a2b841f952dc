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
    pub(crate) count: u64,
    /// Id of the first object in which it happened.
    pub(crate) first: u64,
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
    pub(crate) steps: Vec<Step>,
    /// Events to count each time.
    pub(crate) events: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The stored field's bytes, as they are.
    Take(usize),
    /// The stored field, with changed classes inside.
    Rewrite(usize),
    /// The default of the program's field.
    Default { variant: usize, field: usize },
}

/// The plans for the classes of one save.
pub(crate) struct Plans<'p> {
    pub(crate) stored: Rc<Vec<ClassSchema>>,
    pub(crate) program: &'p Program,
    /// The program's class for each stored one.
    resolved: Vec<Option<usize>>,
    identical: Vec<bool>,
    plans: Vec<Option<Rc<Plan>>>,
    pub(crate) events: Vec<Event>,
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
        };
        // All are identical until one is found that is not; then those that
        // hold it are not, and so on.
        while let Some(changed) =
            (0..this.stored.len()).find(|class| this.identical[*class] && !this.is_same(*class))
        {
            this.identical[changed] = false;
        }
        this
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
        let name = self.stored[class].name.clone();
        let plan = Rc::new(self.compile(class).map_err(|error| error.in_class(name))?);
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
        let mut taken = vec![false; old.len()];
        let mut plan = Fields { steps: Vec::new(), events: Vec::new() };
        for (i, (field, record)) in new.iter().zip(records).enumerate() {
            let found = old.iter().position(|stored| stored.name == field.name).or_else(|| {
                let is_alias = |stored: &FieldSchema| record.aliases.contains(&&*stored.name);
                old.iter().position(is_alias)
            });
            let step = match found {
                Some(stored) => {
                    taken[stored] = true;
                    let kind = &old[stored].kind;
                    if !self.is_compatible(kind, &field.kind) {
                        return Err(self
                            .mismatch(kind, &field.kind)
                            .in_field(&format!("{path}{}", field.name)));
                    }
                    if self.has_identical_classes(kind) {
                        Step::Take(stored)
                    } else {
                        Step::Rewrite(stored)
                    }
                }
                None if record.flags.default => {
                    plan.events.push(self.event(class, format!("{path}{}", field.name), true));
                    Step::Default { variant, field: i }
                }
                None => {
                    return Err(Error::new(
                        ErrorKind::MissingField,
                        "the save does not have this field; give it `#[persist(default)]`, or `#[persist(alias = \"old name\")]` if it was renamed",
                    )
                    .in_field(&format!("{path}{}", field.name)));
                }
            };
            plan.steps.push(step);
        }
        for (field, _) in old.iter().zip(taken).filter(|(_, taken)| !taken) {
            plan.events.push(self.event(class, format!("{path}{}", field.name), false));
        }
        Ok(plan)
    }

    fn event(&mut self, class: &str, field: String, defaulted: bool) -> usize {
        self.events.push(Event { class: class.to_owned(), field, defaulted, count: 0, first: 0 });
        self.events.len() - 1
    }

    fn mismatch(&self, stored: &KindSchema, wanted: &KindSchema) -> Error {
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "the save holds {} where the program has {}; keep the old type, or store it through `#[persist(with = module)]`",
                stored.display(&self.stored),
                wanted.display(&self.program.classes)
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
