//! The code of a field over the versions and in the program, and the questions about dropped code.

mod fields;

use persist::__tools::{Form, KindSchema, rust_type};

use super::{FieldHistory, Question, Versions, field_line, head};
use crate::lock::code::{kind_text, last_part};
use crate::lock::newtypes::modules;
use crate::lock::{ConvertCode, FieldCode, Newtypes, Section};

impl<'h> FieldHistory<'h> {
    fn stored_kind(&self) -> &'h KindSchema {
        &self.pair.old[self.source].kind
    }

    fn expected_kind(&self) -> &'h KindSchema {
        &self.pair.new.fields[self.field].kind
    }

    /// The stored kind, as code names it.
    fn kind(&self) -> String {
        kind_text(self.stored_kind(), &self.section.classes)
    }

    /// The version of the class that stored the value.
    fn class_version(&self) -> u32 {
        self.section.classes[self.pair.stored.0].version
    }

    /// Returns the code of the field in the compared version.
    fn then(&self) -> Option<&'h FieldCode> {
        let path = self.pair.path(&self.pair.old[self.source].name);
        self.section.code.get(&self.pair.stored.0)?.fields.get(&path)
    }

    /// Returns the code of the field in the program.
    fn now(&self) -> Option<&'h FieldCode> {
        let path = self.pair.path_now(self.program, self.field);
        self.versions.code_now(self.pair.new.class).fields.get(&path)
    }

    fn converts(&self) -> &'h [ConvertCode] {
        self.now().map_or(&[], |now| &now.converts)
    }

    /// Returns the code of the field in later versions, and in those of other branches.
    fn later(&self) -> impl Iterator<Item = (&'h str, &'h FieldCode)> {
        let path = self.pair.path_now(self.program, self.field);
        let later = self.versions.later_code(self.version, self.pair.new.class);
        later.filter_map(move |(version, code)| Some((version, code.fields.get(&path)?)))
    }

    /// How it was stored, and is: as another type, by what stands on it, or on a newtype that only one of the two has.
    fn modules(&self) -> (Option<String>, Option<String>) {
        let then = Newtypes { classes: &self.section.classes, code: &self.section.code };
        let now = Newtypes { classes: &self.program.classes, code: self.versions.all_code_now() };
        modules(
            then.field(self.stored_kind(), self.then()),
            now.field(self.expected_kind(), self.now()),
            |class, target| self.resolved[class] == Some(target),
        )
    }

    /// True for a field that was stored as its own type, and is by a function of the program now.
    fn is_newly_restored(&self) -> bool {
        let (then, now) = self.modules();
        then.is_none() && now.is_some()
    }

    /// Returns the question if a version made values of the field by dropped code, or by code that runs again.
    fn question(&self) -> Option<Question> {
        let (kind, version, converts) = (self.kind(), self.class_version(), self.converts());
        let current = converts.iter().find(|convert| convert.takes_of(&kind, version));
        // The program says that the kind is taken as it is.
        if current.is_some_and(|convert| convert.by.is_none()) {
            return None;
        }
        if let Some(question) = self.lost_step().or_else(|| self.step_again(current?)) {
            return Some(question);
        }
        if current.is_some() {
            return None;
        }
        // The same function may stand inside of a class that came around the value.
        let runs = |function: &str| {
            let mut inner = self.now().into_iter().flat_map(|now| &now.inner);
            inner.any(|inner| inner.function == function)
        };
        let lost = self.later().find_map(|(name, code)| {
            let mut converts = code.converts.iter();
            let lost = converts.find(|it| it.by.is_some() && it.takes_of(&kind, version))?;
            Some((name, lost.function().filter(|function| !runs(function))?))
        });
        if let Some((name, function)) = lost {
            return Some(self.ask(format!(
                "{name} made the value by `convert`, with {function}, and the program takes {kind} as it is: give the field that `convert` again, or say that a value of {kind} means the same"
            )));
        }
        let lost = self.lost_with_class(&runs).or_else(|| self.lost_in_wrapper(&runs));
        if let Some((name, attribute, function)) = lost {
            return Some(self.ask(format!(
                "{name} made the value by the `{attribute}` of a class around it, with {function}, and the program takes {kind} as it is: convert it again, or say that it means the same"
            )));
        }
        if let Some((name, other, function)) = self.own_kind_again(&kind) {
            return Some(self.ask(format!(
                "it was {other} in {name}, and {function} makes {kind} of those: if values of {kind} from before meant something else, give the class a `version` and the field a `convert({version} = function)`; if they mean the same, say so"
            )));
        }
        if let Some((name, made, function)) = self.lost_for_migrated(&runs) {
            return Some(self.ask_of(&made, format!(
                "{name} converted the {made} that a `migrate` makes by {function}, and the program takes it as it is: give the field that `convert` again, or say that a value of {made} means the same"
            )));
        }
        if let Some((class, name, variant)) = self.lost_variant() {
            return Some(self.ask(format!(
                "the names of variants become texts, and {name} has no variant {variant} of {class}: if the text is to have the new name, give the field a `convert`; if the old name is meant, say so"
            )));
        }
        let (then, now) = self.modules();
        let then = then.filter(|then| now.as_ref() != Some(then))?;
        let (now, by) = match now {
            Some(now) => (format!("by `{now}`"), "a `migrate` that sets it".to_owned()),
            None => {
                let convert = format!("the field a `convert({version} = function)`");
                (String::from("as it is"), convert)
            }
        };
        Some(self.ask(format!(
            "it was stored by `{then}`, and is stored {now}: if that counts in another unit, give the class a `version` and {by}; if it means the same, say so"
        )))
    }

    /// The field was of the own kind, then of another, and the program converts that other kind to its own again. The
    /// `convert` may stand in a class that came around the value.
    fn own_kind_again(&self, kind: &str) -> Option<(&'h str, &'h str, &'h str)> {
        let own = kind_text(self.expected_kind(), &self.program.classes);
        if own == kind {
            let path = self.pair.path_now(self.program, self.field);
            return self.again(self.pair.new.class, &path, kind);
        }
        let is_part = |own: &str| {
            let mut parts = kind.split(|letter: char| !letter.is_alphanumeric());
            parts.any(|part| part == own)
        };
        let now = Newtypes { classes: &self.program.classes, code: self.versions.all_code_now() };
        let is_old = |class: &usize| self.resolved.contains(&Some(*class));
        let new = now.within(self.expected_kind()).into_iter().filter(|class| !is_old(class));
        let mut places = new.flat_map(|class| {
            let fields = now.parts(class).into_iter().flatten();
            fields.map(move |field| (class, field))
        });
        places.find_map(|(class, field)| {
            let own = kind_text(&field.kind, now.classes);
            is_part(&own).then(|| self.again(class, &field.name, &own))?
        })
    }

    /// Returns the version in which a field of the program was of a kind that its `convert` takes, that kind, and the
    /// function.
    fn again(&self, class: usize, path: &str, own: &str) -> Option<(&'h str, &'h str, &'h str)> {
        let mut converts = self.versions.code_now(class).fields.get(path)?.converts.iter();
        converts.find_map(|convert| {
            let function = convert.function()?;
            if convert.until.is_some() || convert.takes == own {
                return None;
            }
            self.versions.code_after(self.version, class).find_map(|(name, code)| {
                let code = code.fields.get(path)?;
                (code.kind == convert.takes).then_some((name, &*code.kind, function))
            })
        })
    }

    /// Returns a `convert` of the version that the program does not have, for values that only a `migrate` can have
    /// made. The result is the version, the kind that the `convert` took, and its function.
    ///
    /// No version stored that kind in the field, so that no other question is about it.
    fn lost_for_migrated(&self, runs: &dyn Fn(&str) -> bool) -> Option<(&'h str, String, &'h str)> {
        let mut all = self.section.code.values().filter(|code| !code.steps().is_empty());
        let mut now = self.versions.all_code_now().values();
        all.next().filter(|_| now.any(|code| !code.steps().is_empty()))?;
        let converts = self.converts();
        let is_present = |lost: &ConvertCode| {
            converts.iter().any(|it| it.takes == lost.takes || it.function() == lost.function())
        };
        let path = self.pair.path_now(self.program, self.field);
        let was_stored = |kind: &str| {
            let mut all = self.versions.all_code(self.pair.new.class);
            all.any(|code| code.fields.get(&path).is_some_and(|field| field.kind == kind))
        };
        self.then()?.converts.iter().find_map(|lost| {
            let function = lost.function().filter(|function| !runs(function))?;
            let is_lost = !is_present(lost) && !was_stored(&lost.takes);
            is_lost.then(|| (&*self.section.version, lost.takes.clone(), function))
        })
    }

    /// Returns an enum whose variants become texts, a later version that renamed or removed one, and the variant.
    fn lost_variant(&self) -> Option<(&'h str, &'h str, &'h str)> {
        let is_text = |kind: &KindSchema| {
            let mut found = false;
            kind.visit(&mut |kind| found |= *kind == KindSchema::Text);
            found
        };
        if !is_text(self.expected_kind()) || is_text(self.stored_kind()) {
            return None;
        }
        let targets = self.expected_kind().classes();
        let is_expected =
            |class: &usize| self.resolved[*class].is_some_and(|it| targets.contains(&it));
        let classes = self.stored_kind().classes().into_iter().filter(|class| !is_expected(class));
        classes.map(|class| &self.section.classes[class]).find_map(|class| {
            let Form::Enum(variants) = &class.form else { return None };
            let (name, lost) = self.versions.lost_variant(self.version, &class.name, variants)?;
            Some((&*class.name, name, lost))
        })
    }

    /// Returns a question with the line that says that the meaning is the same.
    fn ask(&self, why: String) -> Question {
        self.ask_of(&self.kind(), why)
    }

    /// Like [`ask`](Self::ask), for a kind that may not be the stored one. The line names that one, too: a field that
    /// names kinds takes no others.
    fn ask_of(&self, kind: &str, why: String) -> Question {
        let path = self.pair.path_now(self.program, self.field);
        // A field that names kinds takes no others, so it has to name those of all versions.
        let mut all = self.versions.all_code(self.pair.new.class);
        let is_nameable = all.all(|code| code.fields.get(&path).is_none_or(|it| it.is_nameable));
        if !is_nameable {
            return self.ask_by_migrate(why);
        }
        let mut parts = self.parts();
        let (stored, own) = (self.kind(), kind_text(self.expected_kind(), &self.program.classes));
        let is_named = |kind: &str| self.converts().iter().any(|it| it.takes == kind);
        let is_stored_named = stored == kind || stored == own || is_named(&stored);
        let kinds = [Some(kind), (!is_stored_named).then_some(&*stored)];
        parts.extend(kinds.into_iter().flatten().map(|kind| format!("as {}", rust_type(kind))));
        Question { why, attribute: Some(convert(&parts)), above: self.above(), code: None }
    }

    /// Returns a question with the step of a `migrate` that looks at the field, and so says that the meaning is the
    /// same.
    fn ask_by_migrate(&self, why: String) -> Question {
        let (name, version) = (&self.pair.old[self.source].name, self.class_version());
        let target = self.pair.new.class;
        let above = head(self.program, target);
        let code = self.versions.code_now(target);
        let inspection = format!("let _ = record.get({name:?});");
        if let Some(function) = code.steps().get(&version) {
            let why = format!("{why}; let {function} look at it, `{inspection}`");
            return Question { why, attribute: None, above, code: None };
        }
        let is_ident = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let function = format!("keep_{}", if is_ident { name } else { "value" });
        let current = self.program.classes[target].version;
        let is_raised = version == current;
        let raised = current + u32::from(is_raised);
        let attribute = code.migrate_with(raised, version, &function, is_raised);
        let code =
            format!("fn {function}(record: &mut persist::Record, _: u32) {{\n    {inspection}\n}}");
        Question { why, attribute: Some(attribute), above, code: Some(code) }
    }

    /// The field in the source.
    fn above(&self) -> String {
        let place = (self.pair.new.class, self.pair.new.variant, self.field);
        field_line(self.program, place, &self.pair.new.fields[self.field])
    }

    /// The parts of the `convert` that stands on the field.
    fn parts(&self) -> Vec<String> {
        let own = self.pair.new.records[self.field].converts.iter().zip(self.converts());
        own.map(|(from, convert)| from.text(&rust_type(&convert.takes))).collect()
    }

    /// A later version converted the value at a version of the class, and the program does not.
    fn lost_step(&self) -> Option<Question> {
        let (kind, version, converts) = (self.kind(), self.class_version(), self.converts());

        let (name, step, lost) = self.later().find_map(|(name, code)| {
            // A step may have another function now, unless that is the function of another step.
            let is_other = |it: &ConvertCode| {
                code.converts
                    .iter()
                    .any(|then| then.until != it.until && then.function() == it.function())
            };
            let is_present = |lost: &ConvertCode| {
                converts.iter().any(|it| {
                    it.function() == lost.function() || it.until == lost.until && !is_other(it)
                })
            };
            let mut all = code.converts.iter();
            all.clone().find(|it| it.by.is_some() && it.takes_of(&kind, version))?;
            all.find_map(|it| {
                let step = it.until.filter(|until| *until >= version && it.by.is_some())?;
                (!is_present(it)).then_some((name, step, it))
            })
        })?;
        let function = lost.function().unwrap_or_default();
        let why = format!(
            "{name} converted values of version {step} by {function}, and the program does not: let it convert them again, by a function that changes nothing if they mean the same"
        );
        let code = (lost.takes == kind).then(|| {
            let from = rust_type(&self.stored_kind().display(&self.section.classes));
            let above = self.above();
            let (_, ty) = above.split_once(": ").unwrap_or(("", &above));
            format!("fn {function}(old: {from}) -> {ty} {{\n    todo!()\n}}")
        });
        // The first that takes a value is the one that runs.
        let is_after = |it: &ConvertCode| it.until.is_none_or(|until| until > step);
        let mut parts = self.parts();
        let place = converts.iter().position(is_after).unwrap_or(parts.len());
        parts.insert(place, format!("{step} = {function}"));
        Some(Question { why, attribute: Some(convert(&parts)), above: self.above(), code })
    }

    /// Asks about a function that converts the value once more: an earlier version ran it for a step before this value.
    fn step_again(&self, current: &ConvertCode) -> Option<Question> {
        let (kind, version) = (self.kind(), self.class_version());
        let own = [(&*self.section.version, self.then()?)].into_iter();
        let (name, step) = own.chain(self.later()).find_map(|(name, code)| {
            let is_same =
                |it: &&ConvertCode| it.takes == kind && it.function() == current.function();
            let mut all = code.converts.iter().filter(is_same);
            let is_due = all.clone().any(|it| it.takes_of(&kind, version));
            let step = all.find_map(|it| it.until.filter(|until| *until < version))?;
            (!is_due).then_some((name, step))
        })?;
        let function = current.function()?;
        let place = self.converts().iter().position(|it| it == current);
        let why = format!(
            "{name} made values of version {version} by {function}, and the program runs it on them once more: let it take those of version {step} again, or give it another name if they are to change once more"
        );
        let mut parts = self.parts();
        match self.converts().iter().any(|it| it.until == Some(step)) {
            true => drop(parts.remove(place?)),
            false => *parts.get_mut(place?)? = format!("{step} = {function}"),
        }
        Some(Question { why, attribute: Some(convert(&parts)), above: self.above(), code: None })
    }

    /// Returns what a later version ran on the value inside of a class that the program does not have: the version, the
    /// attribute and the function.
    fn lost_with_class(
        &self,
        runs: &dyn Fn(&str) -> bool,
    ) -> Option<(&'h str, &'static str, &'h str)> {
        let then = Newtypes { classes: &self.section.classes, code: &self.section.code };
        let is_dropped = |class: &usize| self.resolved[*class].is_none();
        then.within(self.stored_kind()).into_iter().filter(is_dropped).find_map(|class| {
            later_on_dropped(self.section, (self.versions, self.version), class, runs)
        })
    }

    /// Returns what a later version ran inside of a class that it had around the value: the version, the attribute and
    /// the function.
    fn lost_in_wrapper(
        &self,
        runs: &dyn Fn(&str) -> bool,
    ) -> Option<(&'h str, &'static str, &'h str)> {
        let then = Newtypes { classes: &self.section.classes, code: &self.section.code };
        let olds = then.within(self.stored_kind());
        // The classes of the value are compared by themselves, by their names of today.
        let is_old = |name: &str| {
            olds.iter().any(|class| {
                let today = self.resolved[*class].map(|target| &*self.program.classes[target].name);
                self.section.classes[*class].name == name || today == Some(name)
            })
        };
        self.later().find_map(|(name, code)| {
            let lost = code.inner.iter().find(|it| !is_old(&it.class) && !runs(&it.function))?;
            Some((name, lost.attribute, &*lost.function))
        })
    }

    /// Returns a remark if another function converts the value than in a later version.
    fn other_function(&self) -> Option<String> {
        let (kind, version) = (self.kind(), self.class_version());
        let by = |code: &'h [ConvertCode]| {
            let convert = code.iter().find(|it| it.takes_of(&kind, version))?;
            convert.function()
        };
        let now = by(self.converts())?;
        let (name, was) = self.later().find_map(|(name, code)| {
            let was = by(&code.converts).filter(|was| *was != now)?;
            Some((name, was))
        })?;
        Some(format!(
            "{kind} was converted by {was} in {name}, and is by {now}: does it make the same of old values?"
        ))
    }
}

/// Returns what a later version ran on records of a class that the program does not have: the version, the attribute
/// and the function, unless that runs still.
pub(super) fn later_on_dropped<'h>(
    section: &Section,
    (versions, version): (&'h Versions, usize),
    class: usize,
    runs: &dyn Fn(&str) -> bool,
) -> Option<(&'h str, &'static str, &'h str)> {
    let schema = &section.classes[class];
    versions.later_code_of_dropped(version, &schema.name).find_map(|(name, code)| {
        let mut due = code.steps().into_iter().filter(|(step, _)| *step >= schema.version);
        if let Some((_, step)) = due.find(|(_, step)| !runs(last_part(step))) {
            return Some((name, "migrate", step));
        }
        schema.named_kinds().find_map(|(field, kind)| {
            let kind = kind_text(kind, &section.classes);
            let mut all = code.fields.get(field)?.converts.iter();
            let lost = all.find(|it| it.by.is_some() && it.takes_of(&kind, schema.version));
            Some((name, "convert", lost?.function().filter(|it| !runs(it))?))
        })
    })
}

/// The attribute with these parts.
fn convert(parts: &[String]) -> String {
    format!("#[persist(convert({}))]", parts.join(", "))
}

/// How the default of a field differs from that of a later version.
fn other_default(
    (versions, version): (&Versions, usize),
    class: usize,
    path: &str,
) -> Option<String> {
    let now = versions.code_now(class).fields.get(path)?.given_default()?;
    let mut later = versions
        .later_code(version, class)
        .filter_map(|(name, code)| Some((name, code.fields.get(path)?.given_default()?)));
    let (name, was) = later.find(|(_, was)| *was != now)?;
    Some(format!(", which was `{was}` in {name} and is `{now}`: is that the same to them?"))
}
