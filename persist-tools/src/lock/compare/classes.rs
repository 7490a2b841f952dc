//! Classes and variants that went, and those that may be what they were.

use std::collections::{HashMap, HashSet};

use persist::__tools::{
    ClassSchema, FieldSchema, Form, KindSchema, Plans, VariantSchema, contested, find_variant,
};
use persist::{ErrorKind, LoadOptions};

use super::{Finding, GoneField, Guess, ItemName, VersionComparison, head, sure};
use crate::lock::ClassCode;
use crate::lock::code::last_part;
use crate::lock::report::Verdict;

fn same_names(old: &[FieldSchema], new: &[FieldSchema]) -> bool {
    old.iter().map(|field| &field.name).eq(new.iter().map(|field| &field.name))
}

/// How much two classes look alike: 2 if they have the same names, 1 if they have more names in common than apart, or
/// 0.
fn likeness(old: &Form, new: &Form) -> u32 {
    fn common<T>(old: &[T], new: &[T], name: impl Fn(&T) -> &String) -> usize {
        old.iter().filter(|old| new.iter().any(|new| name(old) == name(new))).count()
    }
    let (is_same, common, all) = match (old, new) {
        (Form::Struct(old), Form::Struct(new)) => {
            (same_names(old, new), common(old, new, |it| &it.name), old.len() + new.len())
        }
        (Form::Enum(old), Form::Enum(new)) => {
            let is_same = |(old, new): (&VariantSchema, &VariantSchema)| {
                old.name == new.name && same_names(&old.fields, &new.fields)
            };
            let is_same = old.len() == new.len() && old.iter().zip(new).all(is_same);
            (is_same, common(old, new, |it| &it.name), old.len() + new.len())
        }
        _ => return 0,
    };
    if is_same { 2 } else { u32::from(3 * common > all) }
}

/// Describes a name that may mean something else than in the compared version.
fn reused(version: &str, what: &str, name: &str, other: &str) -> String {
    format!(
        "the {what} is another; {version} had no {name}, but {other}, which may be what it was; give the new {what} another name in the save and {other} the `alias`, or the new one the `alias`, if it is the same again"
    )
}

fn is_own(class: &ClassSchema) -> bool {
    !matches!(class.form, Form::Value(_))
}

impl<'c> VersionComparison<'c> {
    /// Reports which classes went, and pairs those that seem to have been renamed with what they
    /// are now.
    pub(super) fn dropped_classes(&mut self, by_place: &HashSet<usize>) {
        let (section, program) = (self.section, self.program);
        let classes = &section.classes;
        let is_object = |class: usize| section.objects.iter().any(|(object, _)| *object == class);
        // Other instances of generic classes are found by the fields that hold them.
        let is_by_place = |class: usize| by_place.contains(&class) && !is_object(class);
        let is_in_trait = |class: usize| section.traits.iter().any(|(_, of)| of.contains(&class));
        let open: HashMap<usize, Vec<usize>> = self
            .plans
            .contested()
            .filter(|(class, _)| is_object(*class) || is_in_trait(*class))
            .map(|(class, candidates)| (class, candidates.to_vec()))
            .collect();
        let mut dropped = Vec::new();
        for (class, schema) in classes.iter().enumerate() {
            if self.resolved[class].is_some() || !is_own(schema) || is_by_place(class) {
                continue;
            }
            let name = &*schema.name;
            if self.registry.is_removed_class(name) {
                let change = "the class is removed; objects of it are dropped";
                let finding = Finding::new(name, Verdict::Safe, change).stored(name, "");
                self.findings.push(Finding { is_accepted: true, ..finding });
            } else if let Some(candidates) = open.get(&class) {
                let error = contested(name, program, candidates);
                let change = format!("the class went; {}", error.message());
                self.findings.push(Finding::new(name, Verdict::Breaks, change).because(&error));
            } else {
                dropped.push(class);
            }
        }
        let came = |class: &usize| {
            !self.resolved.contains(&Some(*class)) && is_own(&program.classes[*class])
        };
        let came: Vec<usize> = (0..program.classes.len()).filter(came).collect();
        let alike = self.alike(&dropped, &came);
        for class in dropped {
            let name = &*classes[class].name;
            let Some(guess) = alike.iter().find(|guess| guess.old == class) else {
                if let Form::Struct(fields) = &classes[class].form {
                    for field in fields {
                        self.moves.left(GoneField {
                            class,
                            target: None,
                            is_struct: true,
                            dropped: [name, &field.name]
                                .map(|name| ItemName::Then(name.to_owned()))
                                .into(),
                            name: field.name.clone(),
                            kind: field.kind.clone(),
                            finding: self.findings.len(),
                        });
                    }
                }
                let change = "the class went; objects of it are kept as unknown";
                self.findings.push(Finding::new(name, Verdict::Safe, change).stored(name, ""));
                continue;
            };
            let new = &program.classes[guess.new].name;
            let mostly = if guess.score > 1 { "" } else { "mostly " };
            // A field that holds it does not load what the program says is removed.
            let or_another = match self.holding_field(class) {
                Some(field) => format!("say so by a `convert` of {field}, which holds it"),
                None => format!("say so by `registry.declare_removed_class({name:?})?`"),
            };
            let change = format!(
                "the class went, and {new} of {mostly}the same fields came; if it is another, {or_another}"
            );
            let finding = Finding::new(name, Verdict::NeedsAlias, change);
            let head = head(program, guess.new);
            self.findings.push(finding.paste(format!("#[persist(alias = {name:?})]"), head));
        }
        // Errors of the plans name the classes of today, but for those of other instances, which name both.
        let known = (0..classes.len()).filter_map(|class| {
            let is_renamed = is_own(&classes[class]) && !self.plans.is_instance(class);
            Some((class, self.resolved[class].filter(|_| is_renamed)?))
        });
        let all: Vec<(usize, usize)> =
            alike.iter().map(|guess| (guess.old, guess.new)).chain(known).collect();
        self.plans = self.plans_with_names(&all);
        self.stored = self.plans.stored.clone();
        self.resolved = (0..classes.len()).map(|class| self.plans.resolve(class)).collect();
    }

    /// A field of a struct that held a class by value, and that the program still has.
    fn holding_field(&self, class: usize) -> Option<String> {
        let classes = self.section.classes.iter().zip(&self.resolved);
        classes.filter_map(|(holder, target)| Some((holder, (*target)?))).find_map(
            |(holder, target)| {
                let new = &self.program.classes[target];
                let Form::Struct(fields) = &new.form else { return None };
                let is_holding = |(field, kind): &(&str, &KindSchema)| {
                    kind.classes().contains(&class) && fields.iter().any(|it| it.name == *field)
                };
                let (field, _) = holder.named_kinds().find(is_holding)?;
                Some(format!("{}.{field}", new.name))
            },
        )
    }

    /// The classes that went, with those that came and seem to be the same.
    fn alike(&self, dropped: &[usize], came: &[usize]) -> Vec<Guess> {
        let (old, new) = (&self.section.classes, &self.program.classes);
        let score = |class: usize, target: usize| {
            let name = [ItemName::Then(old[class].name.clone())];
            let may_become =
                self.versions.may_become(self.version, &name, &[ItemName::Now(target)]);
            if may_become { likeness(&old[class].form, &new[target].form) } else { 0 }
        };
        let guess = |old: usize, new: usize| Guess {
            old,
            new,
            score: score(old, new),
            fits: true,
            is_likely: true,
        };
        let guesses = dropped.iter().flat_map(|old| came.iter().map(|new| guess(*old, *new)));
        let mut alike = sure(guesses.collect());
        // The classes inside of one that was renamed may have been, too.
        let same = alike.iter().filter(|guess| guess.score > 1);
        let same: Vec<(usize, usize)> = same.map(|guess| (guess.old, guess.new)).collect();
        let mut plans = self.plans_with_names(&same);
        alike.retain(|guess| guess.score < 2 || plans.check(guess.old).is_ok());
        alike
    }

    /// Plans for the classes of the version, some by the names of classes of the program.
    fn plans_with_names(&self, pairs: &[(usize, usize)]) -> Plans<'c> {
        let mut stored = self.section.classes.clone();
        for (old, new) in pairs {
            let new = &self.program.classes[*new];
            (stored[*old].id, stored[*old].name) = (new.id, new.name.clone());
        }
        Plans::new(stored, self.program, LoadOptions::default(), None)
    }

    /// Enters the findings about a class that the program has, except those about its fields.
    pub(super) fn known_class(&mut self, class: usize, target: usize) {
        let (old, new) = (&self.section.classes[class], &self.program.classes[target]);
        let (name, head) = (&*new.name, head(self.program, target));
        if !is_own(new) {
        } else if old.name != *name && self.program.find(old) == Some(target) {
            let finding = Finding::new(name, Verdict::Safe, format!("the class was {}", old.name));
            self.findings.push(match self.merged_with(class, target) {
                Some(other) => self.merged(class, target, finding, other),
                None => finding,
            });
        } else if let Some(change) = self.reused_class(class, target) {
            let finding = Finding::new(name, Verdict::Loses, change);
            self.findings
                .push(finding.paste(format!("#[persist(class = \"new.{name}\")]"), head.clone()));
        }
        self.class_code(class, target);
        let (old, new) = (&self.section.classes[class], &self.program.classes[target]);
        let change = format!("version {} became {}", old.version, new.version);
        if old.version < new.version {
            self.findings.push(Finding::new(name, Verdict::Safe, change).shown_by(class));
        } else if old.version > new.version {
            let change = format!(
                "{change}: records of version {} are newer than the program and are never migrated again; a version only rises",
                old.version
            );
            let mut finding = Finding::new(name, Verdict::Breaks, change);
            finding.of.kind = ErrorKind::Unsupported;
            let target = self.program.targets[target];
            // With a `migrate`, the version alone does not compile: each version before it needs a step.
            if target.is_some_and(|target| !target.class.migration.is_empty()) {
                finding.of.change.push_str(&format!(
                    "; give {head} `version = {}` again, with a step of `migrate` for each version before it",
                    old.version
                ));
            } else {
                finding = finding.paste(format!("#[persist(version = {})]", old.version), head);
            }
            self.findings.push(finding);
        }
    }

    /// Enters the findings about dropped migrations, and about a `validate` that was added or changed.
    fn class_code(&mut self, class: usize, target: usize) {
        let (old, new) = (&self.section.classes[class], &self.program.classes[target]);
        let (name, head) = (&*new.name, head(self.program, target));
        let now = self.versions.code_now(target);
        let steps = now.steps();
        let is_due = |step: &u32| old.version <= *step && *step < new.version;
        let lost = self.versions.later_code(self.version, target).find_map(|(version, code)| {
            let mut then = code.steps().into_iter();
            let (step, function) =
                then.find(|(step, _)| is_due(step) && !steps.contains_key(step))?;
            Some((version.to_owned(), step, function.to_owned()))
        });
        if let Some((version, step, function)) = lost {
            let function = last_part(&function).to_owned();
            let change = format!(
                "{version} migrated records of version {step} by {function}, and the program takes them as they are: let it migrate them again, by a function that does nothing if they mean the same, or delete the locked versions that you do not support any more"
            );
            let finding = Finding::new(name, Verdict::Loses, change);
            let mut finding =
                finding.paste(now.migrate_with(new.version, step, &function, false), &head);
            finding.of.code = Some(format!(
                "fn {function}(record: &mut persist::Record, _: u32) {{\n    todo!()\n}}"
            ));
            self.findings.push(finding);
        }
        let none = ClassCode::default();
        let then = self.section.code.get(&class).unwrap_or(&none);
        if let Some(finding) = self.raised_by_two_branches(class, target) {
            self.findings.push(finding);
        }
        let other = self.versions.later_code(self.version, target).find_map(|(version, code)| {
            let mut due = code.steps().into_iter().filter(|(step, _)| is_due(step));
            due.find_map(|(step, was)| {
                let is = last_part(steps.get(&step)?);
                (is != last_part(was)).then(|| format!("records of version {step} were migrated by {} in {version}, and are by {is}: does it make the same of them?", last_part(was)))
            })
        });
        if let Some(change) = other {
            self.findings.push(Finding::new(name, Verdict::Untested, change));
        }
        let then = then.validate();
        if let Some(check) = now.validate().filter(|check| then != Some(*check)) {
            let was = match then {
                Some(then) => format!("was `validate = {then}` and is `validate = {check}`"),
                None => format!("came, `validate = {check}`"),
            };
            let change = format!(
                "the check of its values {was}: does it take every value that old saves have?"
            );
            self.findings.push(Finding::new(name, Verdict::Untested, change));
        }
    }

    /// Returns the question of a class whose version two branches raised by different functions: the version of a
    /// record does not say which of them made it.
    fn raised_by_two_branches(&self, class: usize, target: usize) -> Option<Finding> {
        let then = self.versions.code_of(self.version, target)?;
        let (version, new) = (self.section.classes[class].version, &self.program.classes[target]);
        let now = self.versions.code_now(target);
        let (mine, now_raises) = (then.raises(), now.raises());
        let branches = self.versions.code_of_branches(self.version, target);
        let (branch, step, function) = branches.into_iter().find_map(|(name, code)| {
            // A later step distinguishes the records.
            let is_distinguished = now.steps().keys().any(|step| {
                *step >= version
                    && !code.steps().contains_key(step)
                    && !then.steps().contains_key(step)
            });
            let theirs = code.raises();
            let mut created =
                now_raises.iter().filter(|((step, _), _)| *step < version && !is_distinguished);
            let (what, function) = created
                .find(|(what, by)| theirs.get(*what) == Some(by) && mine.get(*what) != Some(by))?;
            Some((name, what.0, *function))
        })?;
        let change = format!(
            "{branch}, of another branch, made records of version {} by {function}, and this version did not: give it a version more, and a `migrate` that tells the two apart by their fields, or does nothing if they mean the same",
            step + 1
        );
        let step = version.max(new.version);
        let mut finding = Finding::new(&new.name, Verdict::Loses, change).paste(
            now.migrate_with(step + 1, step, "tell_apart", true),
            head(self.program, target),
        );
        finding.of.code = Some(String::from(
            "fn tell_apart(record: &mut persist::Record, _: u32) {\n    todo!()\n}",
        ));
        Some(finding)
    }

    /// A finding of values that become what others become, too: which they were is lost.
    fn merged(&self, class: usize, target: usize, mut finding: Finding, other: &str) -> Finding {
        if self.plans.is_migrated(class, target) {
            return Finding { is_accepted: true, ..finding };
        }
        finding.of.verdict = Verdict::Loses;
        finding.of.change.push_str(&format!(
            ", and values of {other} become it, too: which of the two a value was is lost; keep both, or accept it by a `version` and a `migrate` of {}, which may do nothing",
            head(self.program, target)
        ));
        finding
    }

    /// Another class whose values become those of the same class by their names, where a value may be of either.
    fn merged_with(&self, class: usize, target: usize) -> Option<&'_ str> {
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

    /// Returns the fault of a class name that was free in between, if another class may have had it then.
    fn reused_class(&self, class: usize, target: usize) -> Option<String> {
        let was = &self.section.classes[class];
        let absence = self.versions.absence_in_owner(self.version, &[ItemName::Now(target)])?;
        let may_be = |other: &usize| {
            !self.resolved.contains(&Some(*other))
                && self.versions.had(absence, &[ItemName::Now(*other)])
                && likeness(&was.form, &self.program.classes[*other].form) > 0
        };
        let other = (0..self.program.classes.len()).find(may_be)?;
        let other = &self.program.classes[other].name;
        Some(reused(self.versions.name(absence), "class", &was.name, other))
    }

    pub(super) fn new_classes(&mut self, is_newest: bool) {
        for (class, schema) in self.program.classes.iter().enumerate() {
            if self.resolved.contains(&Some(class)) || !is_own(schema) {
                continue;
            }
            if let Form::Struct(fields) = &schema.form {
                self.moves.came(class, 0..fields.len());
            }
            if is_newest {
                self.findings.push(Finding::new(&schema.name, Verdict::Safe, "the class came"));
            }
        }
    }

    /// The variants that went and came.
    pub(super) fn variants(&mut self, class: usize, index: usize) {
        let stored = self.stored.clone();
        let new = &self.program.classes[index];
        let target = self.program.targets[index].map(|target| target.class);
        let (Form::Enum(old), Form::Enum(news), Some(target)) =
            (&stored[class].form, &new.form, target)
        else {
            return;
        };
        let (name, head) = (&*new.name, head(self.program, index));
        let places: Vec<Option<usize>> =
            old.iter().map(|old| find_variant(&old.name, target.variants())).collect();
        for (variant, place) in places.iter().enumerate() {
            let Some(place) = *place else { continue };
            let (was, is) = (&old[variant], &news[place]);
            let finding = if was.name != is.name {
                let finding =
                    Finding::new(name, Verdict::Safe, format!("the variant was {}", was.name));
                let is_same = |it: &usize| *it != variant && places[*it] == Some(place);
                match (0..old.len()).find(is_same) {
                    Some(other) => self.merged(class, index, finding, &old[other].name),
                    None => finding,
                }
            } else if let Some(change) = self.reused_variant((index, place), was, news, &places) {
                let attribute = format!("#[persist(rename = \"new_{}\")]", is.name);
                Finding::new(name, Verdict::Loses, change).paste(attribute, is.name.clone())
            } else {
                continue;
            };
            self.findings.push(finding.in_field(Some(&is.name)));
        }
        let dropped = (0..old.len()).filter(|i| places[*i].is_none());
        let came = (0..news.len()).filter(|i| !places.contains(&Some(*i)));
        let came: Vec<usize> = came.collect();
        let mut guesses = Vec::new();
        for (from, to) in dropped.clone().flat_map(|from| came.iter().map(move |to| (from, *to))) {
            let fits = same_names(&old[from].fields, &news[to].fields)
                && (0..old[from].fields.len()).all(|field| {
                    let fields = ((class, from), (index, to));
                    self.plans.check_field(fields.0, Some(field), fields.1, field).is_ok()
                });
            guesses.push(Guess {
                old: from,
                new: to,
                score: u32::from(fits),
                fits,
                is_likely: true,
            });
        }
        let alike = sure(guesses);
        let other = target.variants().iter().find(|variant| variant.other);
        let entries = match self.is_key(index) {
            true => ", with all but one of the entries and elements that become one",
            false => "",
        };
        for variant in dropped {
            let dropped = &old[variant].name;
            let is_removed = target.removed.contains(&&**dropped);
            let found = alike.iter().find(|guess| guess.old == variant).filter(|_| !is_removed);
            let may_be = found.map(|guess| &news[guess.new].name);
            let or_removed = format!(
                ", or say that {dropped} is not needed any more, `#[persist(removed = {dropped:?})]` on {head}"
            );
            let (verdict, change) = match (other.map(|it| (it.name, it.fields)), may_be) {
                (Some((other, _)), _) if is_removed => {
                    (Verdict::Safe, format!("is `removed`; values of it become {other}"))
                }
                (None, Some(new)) => {
                    (Verdict::NeedsAlias, format!("went, and {new} of the same fields came"))
                }
                (Some(_), Some(new)) => (
                    Verdict::Loses,
                    format!(
                        "went, and {new} of the same fields came; give it the `alias`{or_removed}"
                    ),
                ),
                (Some((other, [])), None) => (
                    Verdict::Loses,
                    format!(
                        "went; values of it become {other}, and what they held is lost{entries}; give that one a field, `{other}(persist::Unknown)`{or_removed}"
                    ),
                ),
                (Some(_), None) => {
                    (Verdict::Safe, String::from("went; values of it are kept as unknown"))
                }
                (None, None) => (
                    Verdict::Breaks,
                    String::from("went; values of it load only into a variant `#[persist(other)]`"),
                ),
            };
            let finding = Finding::new(name, verdict, format!("the variant {change}"))
                .in_field(Some(dropped));
            let finding = finding.stored(&self.section.classes[class].name, dropped);
            let finding = match may_be {
                Some(new) => finding.paste(format!("#[persist(alias = {dropped:?})]"), new.clone()),
                None if verdict == Verdict::Loses => {
                    finding.paste(format!("#[persist(removed = {dropped:?})]"), head.clone())
                }
                None => finding,
            };
            // Where there is no `other`, a load says whether a value can be of it.
            let doubt = other.is_none().then(|| vec![class]);
            self.findings.push(Finding { is_accepted: is_removed, doubt, ..finding });
        }
        for variant in came {
            if alike.iter().all(|guess| guess.new != variant) {
                let finding = Finding::new(name, Verdict::Safe, "the variant came");
                self.findings.push(finding.in_field(Some(&news[variant].name)));
            }
        }
    }

    /// True if a class of the program stands in the key of a map or in the elements of a set.
    fn is_key(&self, class: usize) -> bool {
        let mut kinds = self.program.classes.iter().flat_map(ClassSchema::kinds);
        kinds.any(|kind| {
            let mut is_found = false;
            kind.visit(&mut |kind| {
                if let KindSchema::Map(_) | KindSchema::Set(_) = kind {
                    kind.parts()[0]
                        .visit(&mut |part| is_found |= *part == KindSchema::Class(class));
                }
            });
            is_found
        })
    }

    /// Returns the fault of a variant name that was free in between, if another variant may have had it then.
    fn reused_variant(
        &self,
        (class, variant): (usize, usize),
        was: &VariantSchema,
        new: &[VariantSchema],
        places: &[Option<usize>],
    ) -> Option<String> {
        let thing = |variant: usize| [ItemName::Now(class), ItemName::Now(variant)];
        let mut later = self.versions.later_code(self.version, class);
        if let Some((version, _)) = later.find(|(_, code)| code.removed.contains(&was.name)) {
            let head = head(self.program, class);
            return Some(format!(
                "{version} said that the variant is `removed`, and old values of it would become the new one; give the new one another name in the save, and `#[persist(removed = {:?})]` to {head}, or the new one the `alias`, if it is the same again",
                was.name
            ));
        }
        let absence = self.versions.absence_in_owner(self.version, &thing(variant))?;
        let may_be = |other: &usize| {
            !places.contains(&Some(*other))
                && self.versions.had(absence, &thing(*other))
                && same_names(&was.fields, &new[*other].fields)
        };
        let other = &new[(0..new.len()).find(may_be)?].name;
        Some(reused(self.versions.name(absence), "variant", &was.name, other))
    }
}
