//! Classes and variants that went, and those that may be what they were.

use std::rc::Rc;

use super::Comparison;
use crate::LoadOptions;
use crate::lock::report::{Difference, Verdict};
use crate::schema::{ClassSchema, FieldSchema, Form, Plans, Target, VariantSchema, find_variant};

/// Those of two lists that fit one of the other, and no more than one.
fn only_pairs(
    old: &[usize],
    new: &[usize],
    fits: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let all: Vec<(usize, usize)> = old
        .iter()
        .flat_map(|old| new.iter().map(|new| (*old, *new)))
        .filter(|(old, new)| fits(*old, *new))
        .collect();
    let is_only = |pair: &(usize, usize)| {
        all.iter().filter(|other| other.0 == pair.0 || other.1 == pair.1).count() == 1
    };
    all.iter().copied().filter(is_only).collect()
}

fn same_names(old: &[FieldSchema], new: &[FieldSchema]) -> bool {
    old.iter().map(|field| &field.name).eq(new.iter().map(|field| &field.name))
}

fn same_shape(old: &Form, new: &Form) -> bool {
    match (old, new) {
        (Form::Struct(old), Form::Struct(new)) => same_names(old, new),
        (Form::Enum(old), Form::Enum(new)) => {
            let same = |(old, new): (&VariantSchema, &VariantSchema)| {
                old.name == new.name && same_names(&old.fields, &new.fields)
            };
            old.len() == new.len() && old.iter().zip(new).all(same)
        }
        _ => false,
    }
}

impl Comparison<'_> {
    /// Tells which classes went, and takes those that seem to have been renamed for what they
    /// are now.
    pub(super) fn gone_classes(&mut self, is_accepted: &dyn Fn(usize) -> bool) {
        let is_own = |class: &ClassSchema| !matches!(class.form, Form::Value(_));
        let section = self.section;
        let gone: Vec<usize> = (0..section.classes.len())
            .filter(|class| self.resolved[*class].is_none() && is_own(&section.classes[*class]))
            .collect();
        let came: Vec<usize> = (0..self.program.classes.len())
            .filter(|class| !self.resolved.contains(&Some(*class)))
            .filter(|class| is_own(&self.program.classes[*class]))
            .collect();
        let alike = only_pairs(&gone, &came, |old, new| {
            same_shape(&section.classes[old].form, &self.program.classes[new].form)
        });
        // The classes inside of one that was renamed may have been, too.
        let renamed = self.with_names(&alike);
        let alike: Vec<(usize, usize)> = alike
            .into_iter()
            .filter(|(old, _)| self.check(renamed.clone(), *old).is_ok())
            .collect();
        for class in gone {
            let name = &section.classes[class].name;
            let Some((_, new)) = alike.iter().find(|(old, _)| *old == class) else {
                let change = String::from("the class went; objects of it are kept as unknown");
                self.tell(Difference::new(name, Verdict::Safe, change));
                continue;
            };
            let new = &self.program.classes[*new];
            let change = format!("the class went, and {} of the same fields came", new.name);
            let word = if matches!(new.form, Form::Enum(_)) { "enum" } else { "struct" };
            let difference = Difference::new(name, Verdict::NeedsAlias, change)
                .paste(format!("#[persist(alias = {name:?})]"), format!("{word} {}", new.name));
            let others: Vec<_> = alike.iter().copied().filter(|(old, _)| *old != class).collect();
            if self.is_needed(&others, &alike) || !is_accepted(class) {
                self.tell(difference);
            } else {
                self.accepted.push(self.differences.len());
                self.tell(difference);
            }
        }
        self.stored = Rc::new(self.with_names(&alike));
        let plans = Plans::new(self.stored.to_vec(), self.program, LoadOptions::default(), None);
        self.resolved = (0..self.stored.len()).map(|class| plans.resolve(class)).collect();
    }

    /// The classes of the version, some by the names of classes of the program.
    fn with_names(&self, pairs: &[(usize, usize)]) -> Vec<ClassSchema> {
        let mut stored = self.section.classes.clone();
        for (old, new) in pairs {
            let new = &self.program.classes[*new];
            (stored[*old].id, stored[*old].name) = (new.id, new.name.clone());
        }
        stored
    }

    /// True if some records would not load with fewer aliases.
    fn is_needed(&self, fewer: &[(usize, usize)], all: &[(usize, usize)]) -> bool {
        let mut plans = [fewer, all].map(|pairs| {
            Plans::new(self.with_names(pairs), self.program, LoadOptions::default(), None)
        });
        (0..self.section.classes.len()).any(|class| {
            let [fewer, all] = &mut plans;
            fewer.resolve(class).is_some()
                && fewer.check(class).is_err()
                && all.check(class).is_ok()
        })
    }

    /// The variants that went and came.
    pub(super) fn variants(
        &mut self,
        class: usize,
        name: &str,
        (old, new): (&[VariantSchema], &[VariantSchema]),
        target: Target,
    ) {
        let places: Vec<Option<usize>> =
            old.iter().map(|old| find_variant(&old.name, target.class.variants())).collect();
        let gone: Vec<usize> = (0..old.len()).filter(|i| places[*i].is_none()).collect();
        let came: Vec<usize> = (0..new.len()).filter(|i| !places.contains(&Some(*i))).collect();
        for (old, place) in old.iter().zip(&places) {
            if let Some(new) = place.map(|place| &new[place]).filter(|new| new.name != old.name) {
                let change = format!("the variant was {}", old.name);
                self.tell(Difference::new(name, Verdict::Safe, change).in_field(new.name.clone()));
            }
        }
        let alike = only_pairs(&gone, &came, |from, to| {
            same_names(&old[from].fields, &new[to].fields) && {
                let mut renamed = self.stored.to_vec();
                if let Form::Enum(variants) = &mut renamed[class].form {
                    variants[from].name.clone_from(&new[to].name);
                }
                self.check(renamed, class).is_ok()
            }
        });
        let other = target.class.variants().iter().find(|variant| variant.other);
        for variant in &gone {
            let gone = &old[*variant].name;
            let difference = match alike.iter().find(|(old, _)| old == variant) {
                Some((_, new_variant)) => {
                    let new = &new[*new_variant].name;
                    let change = format!("the variant went, and {new} of the same fields came");
                    Difference::new(name, Verdict::NeedsAlias, change)
                        .paste(format!("#[persist(alias = {gone:?})]"), new.clone())
                }
                None if let Some(other) = other => {
                    let change = if other.fields.is_empty() {
                        format!(
                            "the variant went; values of it become {}, and what they held is lost",
                            other.name
                        )
                    } else {
                        String::from("the variant went; values of it are kept as unknown")
                    };
                    self.tell(Difference::new(name, Verdict::Safe, change).in_field(gone.clone()));
                    continue;
                }
                None => {
                    let change = "the variant went; values of it load only into a variant `#[persist(other)]`";
                    Difference::new(name, Verdict::Breaks, change.to_owned())
                }
            };
            self.doubt(difference.in_field(gone.clone()));
        }
        for variant in came {
            if alike.iter().all(|(_, new)| *new != variant) {
                let change = String::from("the variant came");
                let difference = Difference::new(name, Verdict::Safe, change);
                self.tell(difference.in_field(new[variant].name.clone()));
            }
        }
    }
}
