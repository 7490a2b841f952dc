use std::collections::HashSet;
use std::rc::Rc;

use super::matching::Matching;
use super::{ClassSchema, FieldSchema, Form, KindSchema, Stored};
use crate::codec::{ClassAccess, NoLinks};
use crate::reflect::{Class, FieldRecord, VariantRecord};
use crate::{Error, ErrorKind, Result};

/// The program's classes: their schema, and how to reach their fields.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub(crate) classes: Vec<ClassSchema>,
    /// For each class; classes of bare values have none.
    pub(crate) targets: Vec<Option<Target>>,
    /// The classes that are registered for a trait.
    pub(crate) implementors: HashSet<usize>,
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
pub(super) enum Plan {
    Struct(Fields),
    /// By stored variant; `None` where the program has it no more.
    Enum(Vec<Option<(usize, Fields)>>),
    Value,
}

pub(super) struct Fields {
    /// The stored fields that have bytes, or may have some in the program, in
    /// stored order.
    pub(super) walk: Vec<Walked>,
    /// The program's fields that have bytes, in the program's order.
    pub(super) steps: Vec<Step>,
    /// True if the steps take the walked fields in order, none twice.
    pub(super) ordered: bool,
    /// Where it is counted how often the plan ran.
    pub(super) run: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Walked {
    /// Index of the stored field.
    pub(super) field: usize,
    /// Its kind.
    pub(super) node: usize,
    /// True if the program has the field.
    pub(super) taken: bool,
    /// True if there are changed classes inside, and the program has the field.
    pub(super) rewrite: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
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
    pub(crate) stored: Rc<Stored>,
    pub(super) program: &'p Program,
    matching: Matching<'p>,
    identical: Vec<bool>,
    plans: Vec<Option<Rc<Plan>>>,
    events: Vec<Event>,
    runs: Vec<Run>,
    /// Counts elements without bytes that are rewritten.
    pub(super) empty: NoLinks,
    /// Bytes of the payloads that were rewritten, as stored.
    pub(super) before: u64,
    /// Bytes of the same in the program's form.
    pub(super) after: u64,
}

/// Bytes of a name in a report; a save may have any number of longer ones.
const LONGEST_NAME: usize = 200;

impl<'p> Plans<'p> {
    pub(crate) fn new(stored: Vec<ClassSchema>, program: &'p Program) -> Self {
        let matching = Matching::new(&stored, program);
        let identical = matching.identical(&stored);
        let plans = stored.iter().map(|_| None).collect();
        let is_same = |class: usize| identical[class] || matching.resolve(class).is_none();
        let dynamic_same = (0..stored.len()).all(is_same);
        Self {
            stored: Rc::new(Stored::new(stored, &identical, dynamic_same)),
            program,
            matching,
            identical,
            plans,
            events: Vec::new(),
            runs: Vec::new(),
            empty: NoLinks::default(),
            before: 0,
            after: 0,
        }
    }

    /// The program's class for a stored one.
    pub(crate) fn resolve(&self, class: usize) -> Option<usize> {
        self.matching.resolve(class)
    }

    /// True if the records of a stored class are as the program would write them.
    pub(crate) fn is_identical(&self, class: usize) -> bool {
        self.identical[class]
    }

    /// True if values of a stored class are rewritten where they are trait objects:
    /// those that no trait has stay as they are stored, to be skipped or kept.
    pub(crate) fn rewrites_dynamic(&self, class: usize) -> bool {
        let target = self.resolve(class);
        !self.identical[class]
            && target.is_some_and(|class| self.program.implementors.contains(&class))
    }

    /// Counts a record in the run of a plan.
    pub(super) fn count_run(&mut self, run: usize, object: u64) {
        let run = &mut self.runs[run];
        run.count += 1;
        if run.count == 1 {
            run.first = object;
        }
    }

    /// The plan for a stored class that the program has; made once.
    pub(super) fn plan(&mut self, class: usize) -> Result<Rc<Plan>> {
        if let Some(plan) = &self.plans[class] {
            return Ok(plan.clone());
        }
        let plan = Rc::new(self.compile(class)?);
        self.plans[class] = Some(plan.clone());
        Ok(plan)
    }

    fn compile(&mut self, class: usize) -> Result<Plan> {
        let Some(index) = self.resolve(class) else {
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
                let new = Wanted { variant: 0, fields: new, records: target.class.fields() };
                self.fields(&Given { class, variant: 0, fields: old }, &new).map(Plan::Struct)
            }
            (Form::Enum(old), Form::Enum(new), Some(target)) => {
                let records = target.class.variants();
                let mut plans = Vec::new();
                for (variant, old) in old.iter().enumerate() {
                    let found =
                        new.iter().position(|candidate| candidate.name == old.name).or_else(|| {
                            let is_alias =
                                |record: &VariantRecord| record.aliases.contains(&&*old.name);
                            records.iter().position(is_alias)
                        });
                    plans.push(match found {
                        Some(i) => {
                            let old = Given { class, variant, fields: &old.fields };
                            let (fields, records) = (&new[i].fields, records[i].fields);
                            let fields =
                                self.fields(&old, &Wanted { variant: i, fields, records })?;
                            Some((i, fields))
                        }
                        None => None,
                    });
                }
                Ok(Plan::Enum(plans))
            }
            (Form::Value(old), Form::Value(new), _) if self.matching.is_compatible(old, new) => {
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

    fn fields(&mut self, old: &Given<'_>, new: &Wanted<'_>) -> Result<Fields> {
        let run = self.runs.len();
        self.runs.push(Run::default());
        let stored = self.stored.clone();
        // The stored field of each of the program's.
        let mut sources = Vec::new();
        let mut taken = vec![false; old.fields.len()];
        for (field, record) in new.fields.iter().zip(new.records) {
            let source =
                old.fields.iter().position(|stored| stored.name == field.name).or_else(|| {
                    let is_alias = |stored: &FieldSchema| record.aliases.contains(&&*stored.name);
                    old.fields.iter().position(is_alias)
                });
            match source {
                Some(source) => {
                    taken[source] = true;
                    let kind = &old.fields[source].kind;
                    if !self.matching.is_compatible(kind, &field.kind) {
                        let error = self.mismatch(old.class, kind, field);
                        return Err(error.in_field(&old.path(&stored, &field.name)));
                    }
                }
                None if record.flags.default => self.note(old, &field.name, true, run),
                None => {
                    return Err(Error::new(
                        ErrorKind::MissingField,
                        format!(
                            "the save does not have field {} of {}; give it `#[persist(default)]`, or `#[persist(alias = \"old name\")]` if it was renamed",
                            field.name, stored[old.class].name
                        ),
                    )
                    .in_field(&old.path(&stored, &field.name)));
                }
            }
            sources.push(source);
        }
        let first = stored.first(old.class, old.variant);
        let mut walk = Vec::new();
        // Place in the walk, by stored field.
        let mut places = vec![None; old.fields.len()];
        for (field, schema) in old.fields.iter().enumerate() {
            let (node, taken) = (stored.node(first + field), taken[field]);
            if !taken {
                self.note(old, &schema.name, false, run);
            }
            let rewrite = taken && !node.same;
            if node.least > 0 || rewrite {
                places[field] = Some(walk.len());
                walk.push(Walked { field, node: first + field, taken, rewrite });
            }
        }
        let steps: Vec<Step> = sources
            .iter()
            .enumerate()
            .filter_map(|(field, source)| match source {
                Some(source) => places[*source].map(Step::Take),
                None => Some(Step::Default { variant: new.variant, field }),
            })
            .collect();
        let takes = steps.iter().filter_map(|step| match step {
            Step::Take(place) => Some(*place),
            Step::Default { .. } => None,
        });
        let ordered = takes.is_sorted_by(|a, b| a < b);
        Ok(Fields { walk, steps, ordered, run })
    }

    fn note(&mut self, old: &Given<'_>, field: &str, defaulted: bool, run: usize) {
        let class = shortened(&self.stored[old.class].name);
        let field = shortened(&old.path(&self.stored, field));
        self.events.push(Event { class, field, defaulted, run });
    }

    /// What was done to records that the save has, and how often.
    pub(crate) fn events(&mut self) -> impl Iterator<Item = (Event, Run)> {
        let runs = &self.runs;
        let counted = self.events.drain(..).map(|event| (runs[event.run], event));
        counted.filter(|(run, _)| run.count > 0).map(|(run, event)| (event, run))
    }

    fn mismatch(&self, class: usize, stored: &KindSchema, wanted: &FieldSchema) -> Error {
        let names =
            |(old, new): (usize, usize)| (&self.stored[old].name, &self.program.classes[new].name);
        let advice = match self.differing_classes(stored, &wanted.kind).map(names) {
            Some((old, new)) => {
                format!("if {new} is what {old} was, give it `#[persist(alias = \"{old}\")]`")
            }
            None => {
                String::from("keep the old type, or store it through `#[persist(with = module)]`")
            }
        };
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "the save holds {} where field {} of {} is {}; {advice}",
                stored.display(&self.stored),
                wanted.name,
                self.stored[class].name,
                wanted.kind.display(&self.program.classes)
            ),
        )
    }

    /// The classes by which two kinds of one shape differ: a stored one and one
    /// of the program.
    fn differing_classes(
        &self,
        stored: &KindSchema,
        wanted: &KindSchema,
    ) -> Option<(usize, usize)> {
        use KindSchema as K;
        match (stored, wanted) {
            (K::Option(a), K::Option(b))
            | (K::List(a), K::List(b))
            | (K::Set(a), K::Set(b))
            | (K::Array(a, _), K::Array(b, _)) => self.differing_classes(a, b),
            (K::Map(a), K::Map(b)) => {
                self.differing_classes(&a.0, &b.0).or_else(|| self.differing_classes(&a.1, &b.1))
            }
            (K::Tuple(a), K::Tuple(b)) => {
                a.iter().zip(b).find_map(|(a, b)| self.differing_classes(a, b))
            }
            (K::Class(a), K::Class(b))
            | (K::Reference { class: a, .. }, K::Reference { class: b, .. }) => {
                (self.resolve(*a) != Some(*b)).then_some((*a, *b))
            }
            _ => None,
        }
    }
}

/// The fields of a stored class or variant.
struct Given<'a> {
    class: usize,
    variant: usize,
    fields: &'a [FieldSchema],
}

/// The program's fields of the same.
struct Wanted<'a> {
    variant: usize,
    fields: &'a [FieldSchema],
    records: &'a [FieldRecord],
}

impl Given<'_> {
    /// A field's name, behind that of its variant.
    fn path(&self, stored: &Stored, field: &str) -> String {
        match &stored[self.class].form {
            Form::Enum(variants) => format!("{}.{field}", shortened(&variants[self.variant].name)),
            _ => field.to_owned(),
        }
    }
}

fn shortened(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let end = (0..LONGEST_NAME - 3).rev().find(|end| name.is_char_boundary(*end));
    format!("{}...", &name[..end.unwrap_or(0)])
}
