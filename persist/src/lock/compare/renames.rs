//! Classes and variants that went, and those that may be what they were.

use std::collections::HashMap;
use std::sync::Arc;

use super::Changes;
use super::moves::Left;
use super::versions::Item;
use crate::LoadOptions;
use crate::lock::report::{Difference, Verdict};
use crate::lock::source;
use crate::schema::{
    ClassSchema, FieldSchema, Form, Plans, Target, VariantSchema, classes_by_place, contested,
    find_variant,
};

/// The items of two lists that fit exactly one of the other list.
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

/// True if two classes have more fields in common, by name, than they have apart.
fn similar_shape(old: &Form, new: &Form) -> bool {
    let names = |form: &Form| -> Vec<String> {
        match form {
            Form::Struct(fields) => fields.iter().map(|field| field.name.clone()).collect(),
            Form::Enum(variants) => variants.iter().map(|variant| variant.name.clone()).collect(),
            Form::Value(_) => Vec::new(),
        }
    };
    let is_struct = |form: &Form| matches!(form, Form::Struct(_));
    let (old_names, new_names) = (names(old), names(new));
    let common = old_names.iter().filter(|name| new_names.contains(name)).count();
    let apart = old_names.len() + new_names.len() - 2 * common;
    is_struct(old) == is_struct(new) && common > apart
}

/// What is said of a name that may mean another thing than in the version that is compared.
fn reused(version: &str, what: &str, name: &str, other: &str) -> String {
    format!(
        "the {what} is another; {version} had no {name}, but {other}, which may be what it was; give the new {what} another name in the save and {other} the `alias`, or the new one the `alias`, if it is the same again"
    )
}

impl Changes<'_> {
    /// Reports which classes went, and pairs those that seem to have been renamed with what they
    /// are now.
    pub(super) fn gone_classes(&mut self) {
        let is_own = |class: &ClassSchema| !matches!(class.form, Form::Value(_));
        let section = self.section;
        // Other instances of generic classes are told by the fields that hold them.
        let mut by_place = classes_by_place(&section.classes, self.program);
        by_place.retain(|class| section.objects.iter().all(|(object, _)| object != class));
        let gone: Vec<usize> = (0..section.classes.len())
            .filter(|class| self.resolved[*class].is_none() && is_own(&section.classes[*class]))
            .filter(|class| !by_place.contains(class))
            .collect();
        let (removed, gone): (Vec<usize>, Vec<usize>) = gone
            .into_iter()
            .partition(|class| self.registry.is_removed_class(&section.classes[*class].name));
        for class in removed {
            let name = &section.classes[class].name;
            let change = String::from("the class is removed; objects of it are dropped");
            let difference = Difference::new(name, Verdict::Safe, change);
            let unregistered = Some(name.clone());
            self.tell(Difference { is_accepted: true, unregistered, ..difference });
        }
        let plans = Plans::new(section.classes.clone(), self.program, LoadOptions::default(), None);
        let gone = self.contested(&plans, gone);
        let came: Vec<usize> = (0..self.program.classes.len())
            .filter(|class| !self.resolved.contains(&Some(*class)))
            .filter(|class| is_own(&self.program.classes[*class]))
            .collect();
        let alike = self.alike(&gone, &came);
        for class in gone {
            let name = &section.classes[class].name;
            let Some((_, new)) = alike.iter().find(|(old, _)| *old == class) else {
                let change = String::from("the class went; objects of it are kept as unknown");
                let row = self.differences.len();
                let unregistered = Some(name.clone());
                let difference = Difference::new(name, Verdict::Safe, change);
                self.tell(Difference { unregistered, ..difference });
                if let Form::Struct(fields) = &section.classes[class].form {
                    self.left.extend(fields.iter().map(|field| Left {
                        stored: class,
                        from: None,
                        name: field.name.clone(),
                        kind: field.kind.clone(),
                        row,
                    }));
                }
                continue;
            };
            let is_same =
                same_shape(&section.classes[class].form, &self.program.classes[*new].form);
            let change = format!(
                "the class went, and {} of {} fields came; if it is another, say so by `registry.removed_class({name:?})?`",
                self.program.classes[*new].name,
                if is_same { "the same" } else { "mostly the same" },
            );
            let difference = Difference::new(name, Verdict::NeedsAlias, change)
                .paste(format!("#[persist(alias = {name:?})]"), self.head(*new));
            self.tell(difference);
        }
        // Errors of the plans name the classes of today, but for those of other instances, which name both.
        let resolved = (0..section.classes.len())
            .filter(|class| is_own(&section.classes[*class]) && !plans.is_instance(*class));
        let resolved = resolved.filter_map(|class| Some((class, self.resolved[class]?)));
        let all: Vec<(usize, usize)> = alike.iter().copied().chain(resolved).collect();
        self.stored = Arc::new(self.with_names(&all));
        let plans = Plans::new(self.stored.to_vec(), self.program, LoadOptions::default(), None);
        self.resolved = (0..self.stored.len()).map(|class| plans.resolve(class)).collect();
    }

    /// Reports the classes that could become several instances of their generic class; returns the others.
    fn contested(&mut self, plans: &Plans<'_>, gone: Vec<usize>) -> Vec<usize> {
        let section = self.section;
        let is_object = |class: usize| {
            section.objects.iter().any(|(object, _)| *object == class)
                || section.traits.iter().any(|(_, classes)| classes.contains(&class))
        };
        let found: HashMap<usize, &[usize]> =
            plans.contested().filter(|(class, _)| is_object(*class)).collect();
        let (refused, others): (Vec<usize>, Vec<usize>) =
            gone.into_iter().partition(|class| found.contains_key(class));
        for class in refused {
            let name = &section.classes[class].name;
            let error = contested(name, self.program, found[&class]);
            let difference = Difference::new(
                name,
                Verdict::Breaks,
                format!("the class went; {}", error.message()),
            );
            self.tell(difference.because(&error));
        }
        others
    }

    /// The classes that went, with those that came and seem to be the same.
    fn alike(&self, gone: &[usize], came: &[usize]) -> Vec<(usize, usize)> {
        let form = |old: usize| &self.section.classes[old].form;
        let new_form = |new: usize| &self.program.classes[new].form;
        let may_be = |old: usize, new: usize| {
            self.versions
                .may_become(Item::GoneClass(&self.section.classes[old].name), Item::Class(new))
        };
        let same = only_pairs(gone, came, |old, new| {
            same_shape(form(old), new_form(new)) && may_be(old, new)
        });
        let is_free = |pairs: &[(usize, usize)], old: usize, new: usize| {
            pairs.iter().all(|pair| pair.0 != old && pair.1 != new)
        };
        let similar = only_pairs(gone, came, |old, new| {
            is_free(&same, old, new)
                && !same_shape(form(old), new_form(new))
                && similar_shape(form(old), new_form(new))
                && may_be(old, new)
        });
        // The classes inside of one that was renamed may have been, too.
        let renamed = self.with_names(&same);
        let fits = |pair: &(usize, usize)| self.check(renamed.clone(), pair.0).is_ok();
        same.into_iter().filter(fits).chain(similar).collect()
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

    /// A row of values that become what others become, too: which they were is lost.
    pub(super) fn merged(
        &self,
        class: usize,
        target: usize,
        row: Difference,
        other: &str,
    ) -> Difference {
        if self.migrated[class] {
            return Difference { is_accepted: true, ..row };
        }
        let change = format!(
            "{}, and values of {other} become it, too: which of the two a value was is lost; keep both, or accept it by a `version` and a `migrate` of {}, which may do nothing",
            row.change,
            self.head(target)
        );
        Difference { change, verdict: Verdict::Loses, ..row }
    }

    /// Another class whose values become those of the same class by their names, where a value may be of either.
    pub(super) fn merged_with(&self, class: usize, target: usize) -> Option<&'_ str> {
        let section = self.section;
        let names = self.program.targets[target].map(|target| target.class)?;
        let is_object = |class: usize| section.objects.iter().any(|(object, _)| *object == class);
        let may_be_either = |other: usize| {
            is_object(class) && is_object(other)
                || section.traits.iter().any(|(_, of)| of.contains(&class) && of.contains(&other))
        };
        let is_other = |other: &usize| {
            *other != class && self.resolved[*other] == Some(target) && may_be_either(*other)
        };
        let is_alias = names.aliases.contains(&&*section.classes[class].name);
        let other = (0..section.classes.len()).find(is_other).filter(|_| is_alias)?;
        Some(&section.classes[other].name)
    }

    /// What is wrong with the name of a variant that was free in between, if another variant may have been it then.
    fn reused_variant(
        &self,
        (class, variant): (usize, usize),
        was: &VariantSchema,
        (new, places): (&[VariantSchema], &[Option<usize>]),
    ) -> Option<String> {
        let absence = self.versions.absence(Item::Variant(class, variant))?;
        let may_be = |other: &usize| {
            !places.contains(&Some(*other))
                && self.versions.had(absence, Item::Variant(class, *other))
                && same_names(&was.fields, &new[*other].fields)
        };
        let other = &new[(0..new.len()).find(may_be)?].name;
        Some(reused(&absence.version, "variant", &was.name, other))
    }

    /// What is wrong with the name of a class that was free in between, if another class may have been it then.
    pub(super) fn reused_class(&self, class: usize, target: usize) -> Option<String> {
        let was = &self.section.classes[class];
        let absence = self.versions.absence(Item::Class(target))?;
        let may_be = |other: &usize| {
            let form = &self.program.classes[*other].form;
            !self.resolved.contains(&Some(*other))
                && self.versions.had(absence, Item::Class(*other))
                && (same_shape(&was.form, form) || similar_shape(&was.form, form))
        };
        let other = (0..self.program.classes.len()).find(may_be)?;
        let other = &self.program.classes[other].name;
        Some(reused(&absence.version, "class", &was.name, other))
    }

    /// The variants that went and came.
    pub(super) fn variants(
        &mut self,
        class: usize,
        index: usize,
        (old, new): (&[VariantSchema], &[VariantSchema]),
        target: Target,
    ) {
        let name = &*self.program.classes[index].name;
        let stored =
            |variant: &str| Some((self.section.classes[class].name.clone(), variant.to_owned()));
        let places: Vec<Option<usize>> =
            old.iter().map(|old| find_variant(&old.name, target.class.variants())).collect();
        let gone: Vec<usize> = (0..old.len()).filter(|i| places[*i].is_none()).collect();
        let came: Vec<usize> = (0..new.len()).filter(|i| !places.contains(&Some(*i))).collect();
        for (variant, place) in places.iter().enumerate() {
            let Some(place) = *place else { continue };
            let (was, is) = (&old[variant], &new[place]);
            let row = if was.name != is.name {
                let change = format!("the variant was {}", was.name);
                let row = Difference::new(name, Verdict::Safe, change);
                let mut same =
                    (0..old.len()).filter(|it| *it != variant && places[*it] == Some(place));
                match same.next() {
                    Some(other) => self.merged(class, index, row, &old[other].name),
                    None => row,
                }
            } else if let Some(change) = self.reused_variant((index, place), was, (new, &places)) {
                let attribute = format!("#[persist(rename = \"new_{}\")]", is.name);
                let above = source::variant(self.program, index, place);
                Difference::new(name, Verdict::Loses, change).paste(attribute, above)
            } else {
                continue;
            };
            self.tell(row.in_field(is.name.clone()));
        }
        let new_names: Vec<String> = new.iter().map(|variant| variant.name.clone()).collect();
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
            let is_removed = target.class.removed.contains(&&**gone);
            let found = alike.iter().find(|(old, _)| old == variant).filter(|_| !is_removed);
            let may_be = found.map(|(_, new)| &*new_names[*new]);
            let (verdict, mut change) = match (other, may_be) {
                (Some(other), _) if is_removed => (
                    Verdict::Safe,
                    format!("the variant is `removed`; values of it become {}", other.name),
                ),
                (None, Some(new)) => (
                    Verdict::NeedsAlias,
                    format!("the variant went, and {new} of the same fields came"),
                ),
                (Some(_), Some(new)) => (
                    Verdict::Loses,
                    format!(
                        "the variant went, and {new} of the same fields came; give it the `alias`"
                    ),
                ),
                (Some(other), None) if other.fields.is_empty() => (
                    Verdict::Loses,
                    format!(
                        "the variant went; values of it become {}, and what they held is lost; give that one a field, `{}(persist::Unknown)`",
                        other.name, other.name
                    ),
                ),
                (Some(_), None) => (
                    Verdict::Safe,
                    String::from("the variant went; values of it are kept as unknown"),
                ),
                (None, None) => (
                    Verdict::Breaks,
                    String::from(
                        "the variant went; values of it load only into a variant `#[persist(other)]`",
                    ),
                ),
            };
            if verdict == Verdict::Loses {
                change.push_str(&format!(
                    ", or say that {gone} is not needed any more, `#[persist(removed = {gone:?})]` on {}",
                    self.head(index)
                ));
            }
            let mut difference = Difference::new(name, verdict, change).in_field(gone.clone());
            difference = match may_be {
                Some(new) => {
                    difference.paste(format!("#[persist(alias = {gone:?})]"), new.to_owned())
                }
                None if verdict == Verdict::Loses => {
                    difference.paste(format!("#[persist(removed = {gone:?})]"), self.head(index))
                }
                None => difference,
            };
            let stored = stored(gone);
            let difference = Difference { stored, is_accepted: is_removed, ..difference };
            // Where there is no `other`, a load says whether a value can be of it.
            if other.is_none() { self.doubt(difference) } else { self.tell(difference) }
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
