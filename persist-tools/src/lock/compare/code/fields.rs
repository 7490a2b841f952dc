//! The fields of a class that both sides have.

use persist::__tools::{ClassSchema, Form, KindSchema, Program, is_near, pair, rust_type};
use persist::Error;
use persist::ErrorKind::MissingField;

use super::other_default;

use crate::lock::compare::{
    FieldHistory, Finding, GoneField, Guess, ItemName, ItemPath, Pair, Question, VersionComparison,
    atoms, field_line, head, sure,
};
use crate::lock::report::Verdict;
use crate::lock::{Fit, fit};

/// The side of a pair that a question is about: the removed field, or the added one.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Old,
    New,
}

impl VersionComparison<'_> {
    /// The fields of a class, of its variants too; or its one value.
    pub(in crate::lock::compare) fn fields(&mut self, class: usize, target: usize) {
        let (stored, program) = (self.stored.clone(), self.program);
        let name = &*program.classes[target].name;
        let pairs: Vec<_> = Pair::all((class, &stored[class]), (target, program)).collect();
        let first = self.plans.check(class).err();
        // A plan ends at the first field that does not load.
        let mut check = |pair: &Pair<'_>, field: usize| {
            first.as_ref()?;
            let source = pair.sources()[field];
            let error = self.plans.check_field(pair.stored, source, pair.target(), field).err()?;
            Some(self.plans.of_other_class(class, error))
        };
        let each = pairs.iter().map(|pair| {
            let fields = 0..pair.new.fields.len();
            fields.map(|field| check(pair, field)).collect::<Vec<_>>()
        });
        let errors: Vec<Vec<Option<Error>>> = each.collect();
        if let Some(first) = first {
            let mut known = errors.iter().flatten().flatten();
            if !known.any(|known| known.message() == first.message()) {
                let finding = Finding::new(name, Verdict::Breaks, first.message()).because(&first);
                self.findings.push(finding.in_field(first.field()));
            }
        } else if let (Form::Value(old), Form::Value(new)) =
            (&stored[class].form, &program.classes[target].form)
            && !self.is_same_kind(old, new)
        {
            let change = self.both_kinds(old, new);
            let finding = Finding::new(name, Verdict::Safe, change).shown_by(class);
            let finding = finding.stored(&self.section.classes[class].name, "");
            let may_narrow = fit(old, new) != Fit::Whole;
            self.findings.push(Finding { is_converted: true, may_narrow, ..finding });
        }
        for (pair, errors) in pairs.iter().zip(&errors) {
            self.pair(pair, errors);
        }
    }

    fn pair(&mut self, pair: &Pair<'_>, errors: &[Option<Error>]) {
        let (sources, is_superseded) = (pair.sources(), &pair.pairing.is_superseded);
        let superseded = (0..pair.old.len()).filter(|old| is_superseded[*old]);
        superseded.for_each(|old| self.superseded(pair, old));
        let dropped = (0..pair.old.len())
            .filter(|old| !sources.contains(&Some(*old)) && !is_superseded[*old]);
        let (removed, dropped): (Vec<usize>, Vec<usize>) =
            dropped.partition(|old| pair.new.removed.contains(&&*pair.old[*old].name));
        for old in removed {
            let change = "the field is `removed`; its old values are dropped";
            let finding = self.of_stored(pair, old, Verdict::Safe, change);
            self.findings.push(Finding { is_accepted: true, ..finding });
        }
        // Added fields without and with a default.
        let (mut missing, mut came) = (Vec::new(), Vec::new());
        for (field, source) in sources.iter().enumerate() {
            let name = &pair.new.fields[field].name;
            match (&errors[field], source) {
                (Some(error), _) if error.kind() == MissingField => missing.push((field, error)),
                (Some(error), _) => {
                    let finding = pair.finding(name, Verdict::Breaks, error.message());
                    self.findings.push(finding.because(error));
                }
                (None, None) if pair.new.records[field].keeps_unknown => {}
                (None, None) => {
                    came.push(field);
                    let is_default = pair.new.records[field].has_default;
                    let from = if is_default { "its default" } else { "what `migrate` makes" };
                    let was = is_default
                        .then(|| {
                            let path = pair.path_now(self.program, field);
                            other_default((self.versions, self.version), pair.new.class, &path)
                        })
                        .flatten();
                    let change =
                        format!("the field came; old saves get {from}{}", was.unwrap_or_default());
                    let finding = pair.finding(name, Verdict::Safe, change);
                    self.findings.push(finding.shown_by(pair.stored.0));
                }
                (None, Some(source)) => self.retained(pair, field, *source),
            }
        }
        let is_missing = |field: usize| missing.iter().any(|(missing, _)| *missing == field);
        let all: Vec<usize> = missing.iter().map(|(field, _)| *field).chain(came).collect();
        if pair.variant.is_none() {
            let class = pair.new.class;
            self.moves.came(class, all.iter().copied());
        }
        let both = dropped.iter().flat_map(|old| all.iter().map(|new| (*old, *new)));
        let guesses: Vec<Guess> =
            both.filter_map(|(old, new)| self.guess(pair, old, new)).collect();
        let mut sure = sure(guesses.clone());
        // Others are asked for: an alias of what only happens to fit would load nonsense.
        sure.retain(|guess| guess.is_likely);
        for (field, error) in &missing {
            self.missing(pair, (*field, error), &guesses, &sure);
        }
        for old in dropped {
            let found = sure.iter().find(|guess| guess.old == old);
            if found.is_some_and(|guess| is_missing(guess.new)) {
                continue;
            }
            let of_it = |guess: &&Guess| {
                guess.old == old && guess.score > 0 && found.is_none_or(|it| it == *guess)
            };
            let news = guesses.iter().filter(of_it).filter(|guess| !is_missing(guess.new));
            let news: Vec<&Guess> = news.collect();
            self.dropped(pair, old, &news, found);
        }
        if !sources.iter().flatten().is_sorted() {
            let finding =
                Finding::new(pair.class, Verdict::Safe, "the order of the fields changed");
            self.findings.push(finding.in_field(pair.variant));
        }
    }

    /// Returns a finding about a stored field.
    fn of_stored(
        &self,
        pair: &Pair<'_>,
        old: usize,
        verdict: Verdict,
        change: impl Into<String>,
    ) -> Finding {
        let name = &pair.old[old].name;
        let class = &self.section.classes[pair.stored.0].name;
        pair.finding(name, verdict, change).stored(class, &pair.path(name))
    }

    /// A stored field that went, whose values only a migration may take.
    fn lost(&self, pair: &Pair<'_>, old: usize, change: impl Into<String>) -> Finding {
        let finding = self.of_stored(pair, old, Verdict::Loses, change).shown_by(pair.stored.0);
        Finding { is_migrated: self.migrated[pair.stored.0], ..finding }
    }

    /// A field that went, and could be one that has another source.
    fn superseded(&mut self, pair: &Pair<'_>, old: usize) {
        let name = &pair.old[old].name;
        let replacement =
            pair.new.records.iter().zip(pair.sources()).find_map(|(record, source)| {
                let source = source.filter(|_| record.may_be(&pair.old[old]))?;
                Some((record.name, &*pair.old[source].name))
            });
        let (field, source) = replacement.unwrap_or_default();
        let change = format!(
            "the field went, and {field}, which has its name as an alias, takes the values of {source}; those of {name} are lost: give the class a `version` and a `migrate` that takes both, or remove the alias"
        );
        self.findings.push(self.lost(pair, old, change));
    }

    /// A field without a default that old saves do not have.
    fn missing(
        &mut self,
        pair: &Pair<'_>,
        (field, error): (usize, &Error),
        guesses: &[Guess],
        sure: &[Guess],
    ) {
        let expected = &pair.new.fields[field];
        let mut change = String::from("the field came without a default");
        let row = |verdict, change| pair.finding(&expected.name, verdict, change).because(error);
        let finding = if let Some(guess) = sure.iter().find(|guess| guess.new == field) {
            let old = &pair.old[guess.old];
            let is_same = self.is_same_kind(&old.kind, &expected.kind);
            let of = if is_same { " of its kind" } else { "" };
            change.push_str(&format!(", and {}{of} went", old.name));
            self.keeping(pair, guess, row(Verdict::NeedsAlias, change))
        } else {
            let likely = guesses.iter().filter(|guess| guess.new == field && guess.score > 0);
            let likely: Vec<&Guess> = likely.collect();
            if !likely.is_empty() {
                let question = self.question(pair, &likely, Asked::Old);
                let removed = likely.iter().map(|guess| &*pair.old[guess.old].name);
                let removed: Vec<&str> = removed.collect();
                // With a default alone the old values would be lost.
                let (removed, place) = (removed_attribute(&removed), self.owner(pair));
                change
                    .push_str(&format!("; {question}, else a default, and `{removed}` on {place}"));
            }
            let above = field_line(self.program, pair.place(field), expected);
            let finding = row(Verdict::NeedsDefault, change).paste("#[persist(default)]", above);
            Self::with_code(finding, self.code(pair, &likely))
        };
        self.findings.push(finding);
    }

    /// A field that went, the fields that came with a default and may be it, and the one that is likeliest.
    fn dropped(&mut self, pair: &Pair<'_>, old: usize, news: &[&Guess], sure: Option<&Guess>) {
        let (class, name) = (pair.stored.0, &pair.old[old].name);
        let head = match pair.variant {
            Some(variant) => variant.to_owned(),
            None => head(self.program, pair.new.class),
        };
        let removed = removed_attribute(&[name]);
        let owner = self.owner(pair);
        let or_removed =
            format!("say that {name} is not needed any more, by `{removed}` on {owner}");
        let has_room = pair.new.records.iter().any(|record| record.keeps_unknown);
        let finding = if !news.is_empty() {
            let names = news.iter().map(|guess| &*pair.new.fields[guess.new].name);
            let names: Vec<&str> = names.collect();
            let (names, s) = (names.join(" and "), if news.len() == 1 { "" } else { "s" });
            let room = match self.held[class].is_none() || has_room {
                true => "",
                false => " in a field `#[persist(unknown)]`",
            };
            let or_keep = format!(
                "; or keep the old values as unknown{room}, by a `version` and a `migrate` that looks at the field and leaves it, `let _ = record.get({name:?});`"
            );
            let advice = match sure {
                Some(_) => format!("let it take the old ones over, or {or_removed}{or_keep}"),
                None => {
                    format!("{}, else {or_removed}{or_keep}", self.question(pair, news, Asked::New))
                }
            };
            let finding = self.lost(pair, old, format!(
                "the field went, and {names} came, whose default{s} would take the place of every old value; {advice}"
            ));
            match sure {
                Some(guess) => self.keeping(pair, guess, finding),
                None => Self::with_code(finding.paste(removed, head), self.code(pair, news)),
            }
        } else if let Some(place) = self.held[class].as_ref().filter(|_| !has_room) {
            let finding = self.lost(pair, old, format!(
                "the field went; its old values are lost where the class is held by value, as in {place}; keep them in a field for what is unknown, or {or_removed}"
            ));
            match pair.new.fields.iter().any(|field| field.name == "0") {
                // In a tuple it would have the name of a field that went.
                true => finding.paste("#[persist(unknown, rename = \"rest\")]", "persist::Unknown"),
                false => finding.paste("#[persist(unknown)]", "rest: persist::Unknown"),
            }
        } else {
            let with = if has_room { "" } else { " with the object" };
            let change = format!("the field went; its old values are kept as unknown{with}");
            self.of_stored(pair, old, Verdict::Safe, change)
        };
        self.moves.left(GoneField {
            class,
            target: Some(pair.new.class),
            is_struct: pair.variant.is_none(),
            dropped: pair.item(ItemName::Then(name.clone())),
            name: name.clone(),
            kind: pair.old[old].kind.clone(),
            finding: self.findings.len(),
        });
        self.findings.push(finding);
    }

    /// Returns the struct or variant that an attribute stands on, as messages name it.
    fn owner(&self, pair: &Pair<'_>) -> String {
        match pair.variant {
            Some(variant) => format!("variant {variant}"),
            None => head(self.program, pair.new.class),
        }
    }

    /// The attribute by which a new field takes over the values of an old one.
    fn keeping(&self, pair: &Pair<'_>, guess: &Guess, finding: Finding) -> Finding {
        let (attribute, above, code) = self.alias(pair, guess);
        Self::with_code(finding.paste(attribute, above), code)
    }

    /// Asks whether a field is what another one was, with the attribute that then helps.
    fn question(&self, pair: &Pair<'_>, guesses: &[&Guess], asked: Asked) -> String {
        let each = guesses.iter().map(|guess| {
            let (old, new) = (&pair.old[guess.old].name, &pair.new.fields[guess.new].name);
            let it = match asked {
                Asked::New if guesses.len() > 1 => new,
                _ => "it",
            };
            format!("if {it} is what {old} was, give it `{}`", self.alias(pair, guess).0)
        });
        each.collect::<Vec<_>>().join("; ")
    }

    /// The function that the only attribute names.
    fn code(&self, pair: &Pair<'_>, guesses: &[&Guess]) -> Option<String> {
        let [only] = guesses else { return None };
        self.alias(pair, only).2
    }

    fn with_code(mut finding: Finding, code: Option<String>) -> Finding {
        finding.of.code = code;
        finding
    }

    /// That attribute, the line under it, and the function that it names.
    fn alias(&self, pair: &Pair<'_>, guess: &Guess) -> (String, String, Option<String>) {
        let (old, new) = (&pair.old[guess.old], &pair.new.fields[guess.new]);
        let above = field_line(self.program, pair.place(guess.new), new);
        let has_class = |kind: &KindSchema| !kind.classes().is_empty();
        // A kind that does not take every old value would break next. Types of old classes do not exist any more.
        let takes_all =
            fit(&old.kind, &new.kind) == Fit::Whole || has_class(&old.kind) || has_class(&new.kind);
        if guess.fits && takes_all || old.kind.refers() {
            return (format!("#[persist(alias = {:?})]", old.name), above, None);
        }
        let is_ident = old.name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let function = format!("from_{}", if is_ident { &old.name } else { "old" });
        let (_, ty) = above.split_once(": ").unwrap_or(("", &above));
        let from = rust_type(&old.kind.display(&self.stored));
        let code = format!("fn {function}(old: {from}) -> {ty} {{\n    todo!()\n}}");
        let attribute = format!("#[persist(alias = {:?}, convert = {function})]", old.name);
        (attribute, above, Some(code))
    }

    /// How likely a field that went is one that came, as far as the locked versions allow it.
    fn guess(&mut self, pair: &Pair<'_>, old: usize, new: usize) -> Option<Guess> {
        let (was, is) = (&pair.old[old], &pair.new.fields[new]);
        let dropped = pair.item(ItemName::Then(was.name.clone()));
        // Unknown data belongs to no field.
        if was.kind == KindSchema::Unknown
            || !self.versions.may_become(self.version, &dropped, &pair.now(new))
        {
            return None;
        }
        let fits = !self.migrated[pair.stored.0]
            && self.plans.check_field(pair.stored, Some(old), pair.target(), new).is_ok();
        let is_same = self.is_same_kind(&was.kind, &is.kind);
        let is_near = is_near(&was.name, &is.name);
        let score = 4 * u32::from(fits)
            + 8 * u32::from(fits && is_same)
            + 6 * u32::from(is_near)
            + u32::from(self.is_akin(&was.kind, &is.kind));
        Some(Guess { old, new, score, fits, is_likely: is_near || is_same })
    }

    /// True for kinds of a stored and of a new field that hold something of the same sort: a number, a text, values of
    /// one class.
    pub(in crate::lock::compare) fn is_akin(&self, old: &KindSchema, new: &KindSchema) -> bool {
        let news = atoms(new, &self.program.classes);
        atoms(old, &self.stored).iter().any(|atom| news.contains(atom))
    }

    /// True for a stored and a new kind that are equal, with classes of equal names.
    fn is_same_kind(&self, old: &KindSchema, new: &KindSchema) -> bool {
        let (stored, classes) = (&self.stored, &self.program.classes);
        old.is_like(new, true, &mut |old, new| stored[old].name == classes[new].name)
    }

    fn both_kinds(&self, old: &KindSchema, new: &KindSchema) -> String {
        let (old, new) = (old.display(&self.stored), new.display(&self.program.classes));
        format!("{old} became {new}")
    }

    /// A field that both sides have.
    fn retained(&mut self, pair: &Pair<'_>, field: usize, source: usize) {
        let class = pair.stored.0;
        let (old, new) = (&pair.old[source], &pair.new.fields[field]);
        if old.name != new.name {
            let change = format!("the field was {}", old.name);
            self.findings.push(pair.finding(&new.name, Verdict::Safe, change));
        }
        let is_same = self.is_same_kind(&old.kind, &new.kind);
        let reused = self.reused(pair, field, source, is_same).map(|why| Question {
            why,
            attribute: Some(another_name(pair, source, field)),
            above: field_line(self.program, pair.place(field), new),
            code: None,
        });
        let is_reused = reused.is_some();
        let history = self.history(pair, field, source);
        let reused = reused.or_else(|| history.question());
        let is_code = !is_reused && reused.is_some();
        let is_restored = is_same && reused.is_none() && history.is_newly_restored();
        if let Some(change) = history.other_function().filter(|_| reused.is_none()) {
            self.findings.push(pair.finding(&new.name, Verdict::Untested, change));
        }
        if is_same && reused.is_none() && !is_restored {
            return;
        }
        // Whether the `convert` of the field takes every value of the stored kind by a function, or says that it is
        // taken as it is.
        let kinds = self.program.old_kinds.get(&pair.place(field)).map_or(&[][..], |kinds| kinds);
        let converts = pair.new.records[field].converts.iter().zip(kinds);
        let fitting = converts.filter(|(_, taken)| {
            fit(&old.kind, taken) == Fit::Whole
                && atoms(&old.kind, &self.stored) == atoms(taken, &self.program.classes)
        });
        let by_function: Vec<bool> = fitting.map(|(from, _)| from.function.is_some()).collect();
        let has_function = by_function.contains(&true) && reused.is_none();
        let is_said = by_function.contains(&false);
        let fit = fit(&old.kind, &new.kind);
        let change = match is_same {
            true if is_restored => {
                String::from("the field is stored by a function of the program now")
            }
            true if is_code => String::from("its code changed"),
            true => String::from("the field is another"),
            false => self.both_kinds(&old.kind, &new.kind),
        };
        let mut finding = self.of_stored(pair, source, Verdict::Safe, change);
        let hint = match is_restored {
            _ if has_function || is_said => None,
            // A function of a `convert` beside a module is refused.
            true => Some(
                "; no sample shows whether its unit changed: if it did, give the class a `version` and a `migrate` that sets the field",
            ),
            false => self.may_be_another_unit(&old.kind, &new.kind).then_some(
                "; no sample shows whether its unit changed: if it did, give the field a `convert`",
            ),
        };
        finding.of.change.push_str(hint.unwrap_or_default());
        if has_function {
            finding.of.change.push_str(", by its `convert`");
        } else if let Some(Question { why, attribute, above, code }) = reused {
            finding.worsen(Verdict::Loses, &why);
            (finding.of.above, finding.of.code) = (attribute.is_some().then_some(above), code);
            finding.of.attribute = attribute;
        }
        self.findings.push(Finding {
            is_converted: !has_function && (!is_same || is_reused),
            is_accepted: has_function,
            is_restored: is_code || is_restored,
            may_narrow: !has_function && fit != Fit::Whole,
            ..finding.in_field(Some(&pair.path(&new.name))).shown_by(class)
        });
    }

    /// True for a value that became a newtype: often it counts in another unit since. A field stored
    /// by a function of the program has to say so by itself.
    fn may_be_another_unit(&self, old: &KindSchema, new: &KindSchema) -> bool {
        let KindSchema::Class(class) = new else { return false };
        let is_newtype = match &self.program.classes[*class].form {
            Form::Struct(fields) => matches!(&fields[..], [field] if field.name == "0"),
            Form::Value(_) => true,
            Form::Enum(_) => false,
        };
        is_newtype && old.classes().is_empty() && !old.refers()
    }

    /// Returns the code of a field over the versions.
    fn history<'h>(&'h self, pair: &'h Pair<'h>, field: usize, source: usize) -> FieldHistory<'h> {
        FieldHistory {
            section: self.section,
            versions: self.versions,
            version: self.version,
            program: self.program,
            resolved: &self.resolved,
            pair,
            field,
            source,
        }
    }

    /// Returns the first later version that declares a stored field `removed`.
    fn said_removed(&self, pair: &Pair<'_>, source: usize) -> Option<&str> {
        let path = pair.path(&pair.old[source].name);
        let mut later = self.versions.later_code(self.version, pair.new.class);
        later.find_map(|(version, code)| code.removed.contains(&path).then_some(version))
    }

    /// Returns the fault of a field name that was free in between, and now seems to mean something else.
    fn reused(
        &self,
        pair: &Pair<'_>,
        field: usize,
        source: usize,
        is_same: bool,
    ) -> Option<String> {
        let (old, record) = (&pair.old[source], &pair.new.records[field]);
        let removed = self.said_removed(pair, source);
        // Where another branch removed it, it may have been in all versions after this one.
        let absence = self.versions.absence(self.version, &pair.now(field));
        if absence.is_none() && removed.is_none() {
            return None;
        }
        let came_then = |other: &usize| {
            pair.sources()[*other].is_none()
                && absence.is_some_and(|absence| self.versions.had(absence, &pair.now(*other)))
                && self.is_akin(&old.kind, &pair.new.fields[*other].kind)
        };
        let other =
            (0..pair.new.fields.len()).find(came_then).map(|other| &pair.new.fields[other].name);
        // A number alone does not tell that it is the same thing again.
        let is_named = old.name == record.name;
        let is_said = !is_named && record.aliases.contains(&&*old.name);
        if is_said
            || is_same && is_named && old.id == record.id && other.is_none() && removed.is_none()
        {
            return None;
        }
        let but = other.map_or_else(String::new, |other| format!(", but {other}"));
        let why = match removed {
            Some(version) => {
                format!("{version} said that it is `removed`, and old values of {}", old.name)
            }
            None => format!(
                "{} had no such field{but}, and saves of it may keep an old value of {}, which",
                self.versions.name(absence?),
                old.name
            ),
        };
        Some(format!(
            "{why} would become the new one; give the new field another {} in the save, and `#[persist(removed = {name:?})]` to its type, or `#[persist(alias = {name:?})]` to the field, if it is the same again",
            if is_named { "name" } else { "number" },
            name = old.name,
        ))
    }
}

/// Returns the attribute that declares fields `removed`.
fn removed_attribute(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("removed = {name:?}")).collect();
    format!("#[persist({})]", names.join(", "))
}

/// The attribute by which a field is not the stored one any more.
fn another_name(pair: &Pair<'_>, source: usize, field: usize) -> String {
    let (old, record) = (&pair.old[source], &pair.new.records[field]);
    let name = (old.name == record.name).then(|| format!("rename = \"new_{}\"", record.name));
    let is_numbered = old.id.is_some() && old.id == record.id;
    let ids = pair.old.iter().map(|field| field.id).chain(pair.new.records.iter().map(|it| it.id));
    let free = ids.flatten().max().unwrap_or_default().saturating_add(1);
    let number = is_numbered.then(|| format!("id = {free}"));
    let both: Vec<String> = name.into_iter().chain(number).collect();
    format!("#[persist({})]", both.join(", "))
}

impl<'p> Pair<'p> {
    /// The structs of two classes, or their variants.
    fn all(
        (class, old): (usize, &'p ClassSchema),
        (target, program): (usize, &'p Program),
    ) -> impl Iterator<Item = Self> {
        let name = &*program.classes[target].name;
        let variants = match &old.form {
            Form::Enum(variants) => Some(variants),
            _ => None,
        };
        program.sides(old, target).into_iter().enumerate().filter_map(move |(variant, sides)| {
            let new = sides.new?;
            Some(Self {
                stored: (class, variant),
                class: name,
                variant: variants.map(|variants| &*variants[variant].name),
                old: sides.old,
                new,
                pairing: pair(sides.old, new.records),
            })
        })
    }

    /// The program's class and variant.
    fn target(&self) -> (usize, usize) {
        (self.new.class, self.new.variant)
    }

    /// Returns a finding about a field.
    fn finding(&self, field: &str, verdict: Verdict, change: impl Into<String>) -> Finding {
        Finding::new(self.class, verdict, change).in_field(Some(&self.path(field)))
    }

    /// The stored field for each of the program's.
    fn sources(&self) -> &[Option<usize>] {
        &self.pairing.sources
    }

    /// One of the program's fields, for its source.
    fn place(&self, field: usize) -> (usize, usize, usize) {
        (self.new.class, self.new.variant, field)
    }

    fn item(&self, name: ItemName) -> ItemPath {
        let variant = self.variant.map(|_| ItemName::Now(self.new.variant));
        [ItemName::Now(self.new.class)].into_iter().chain(variant).chain([name]).collect()
    }

    fn now(&self, field: usize) -> ItemPath {
        self.item(ItemName::Now(field))
    }
}
