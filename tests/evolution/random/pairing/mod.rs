//! Random pairs of stored and wanted fields, with names, numbers, aliases, kept fields and migrations, read
//! on every path, against a naive twin of the rules.

mod programs;
mod twin;

use std::collections::BTreeMap;

use persist::save::{LoadEvent, LoadReport};
use persist::{Error, LoadOptions, SaveManager, Saves};
use persist_tests::support::short_or_long;
use proptest::prelude::{ProptestConfig, any, proptest};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use self::programs::{
    Boxed, Choice, Dynamic, Holder, Inside, Many, Moved, PROGRAMS, Program, Shared, Spec, Thing,
};
use self::twin::{Found, Outcome, Place};
use persist_tests::support::forge::{self, Item};

/// A stored value, mostly a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    U8(u8),
    U16(u16),
    U32(u32),
    /// What no `u32` can be made of.
    Text(u8),
    List(u8),
}

/// A stored field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    name: &'static str,
    number: Option<u32>,
    value: Number,
    /// True if it was kept of another variant.
    is_other: bool,
    /// True for what a program made up for a field, which is no field itself.
    is_made_up: bool,
}

/// What is stored of a class `Case`.
#[derive(Clone, Debug)]
struct Save {
    version: u32,
    fields: Vec<Stored>,
    /// Where the field for what is unknown stands, if there is one, and what it holds.
    room: Option<usize>,
    inside: Vec<Stored>,
    /// What was kept with the object.
    behind: Vec<Stored>,
    drop_unknown: bool,
}

impl Number {
    /// The value as the program's number.
    fn number(&self) -> Option<u32> {
        match self {
            Self::U8(number) => Some((*number).into()),
            Self::U16(number) => Some((*number).into()),
            Self::U32(number) => Some(*number),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    fn kind(&self) -> &'static [u8] {
        match self {
            Self::U8(_) => &[3],
            Self::U16(_) => &[4],
            Self::U32(_) => &[5],
            Self::Text(_) => &[15],
            Self::List(_) => &[17, 3],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::U8(number) => vec![*number],
            Self::U16(number) => number.to_le_bytes().to_vec(),
            Self::U32(number) => number.to_le_bytes().to_vec(),
            Self::Text(number) | Self::List(number) => vec![1, *number],
        }
    }

    /// Reads one that is kept in a save.
    fn read(kind: u8, bytes: &mut &[u8]) -> Self {
        let mut take = || {
            let (first, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            *first
        };
        match kind {
            3 => Self::U8(take()),
            4 => Self::U16(u16::from_le_bytes([take(), take()])),
            5 => Self::U32(u32::from_le_bytes([take(), take(), take(), take()])),
            15 => {
                take();
                Self::Text(take())
            }
            17 => {
                take();
                Self::List(take())
            }
            kind => panic!("kind {kind}"),
        }
    }
}

impl Spec {
    /// The fields as the program stores them.
    fn own(&self, value: &mut dyn FnMut(usize) -> Number) -> Vec<Stored> {
        let fields = self.fields.iter().enumerate();
        let stored = fields.map(|(i, field)| Stored {
            name: field.name,
            number: field.number,
            value: value(i),
            is_other: false,
            is_made_up: false,
        });
        stored.collect()
    }
}

/// Sometimes what a program made up for some of its fields, of which it has changed a few.
fn made_up(fields: &[Stored], rng: &mut Pcg64) -> Vec<Stored> {
    let is_any = rng.gen_ratio(1, 3);
    let made_up = fields.iter().filter(|_| is_any && rng.r#gen()).cloned();
    let made_up: Vec<Stored> = made_up.map(|field| Stored { is_made_up: true, ..field }).collect();
    let changed = |it: Stored| match rng.gen_ratio(1, 3) {
        true => Stored { value: Number::U32(1), ..it },
        false => it,
    };
    made_up.into_iter().map(changed).collect()
}

impl Save {
    fn random(rng: &mut Pcg64, spec: &Spec) -> Self {
        // Each value is found once.
        let mut next: u8 = 10;
        let mut value = |rng: &mut Pcg64| {
            next += 1;
            match rng.gen_range(0..40) {
                0..=3 => Number::U8(next),
                4..=7 => Number::U16(next.into()),
                8 => Number::Text(next),
                9 => Number::List(next),
                _ => Number::U32(u32::from(next)),
            }
        };
        // Numbers only, names only, or both.
        let numbered = *[0.0, 0.3, 0.7, 1.0].choose(rng).expect("one");
        let number = |rng: &mut Pcg64| rng.gen_bool(numbered).then(|| rng.gen_range(1..=4));
        let names = ["a", "b", "c", "d", "e"];
        let mut fields = Vec::new();
        let mut left: Vec<&'static str> = names.to_vec();
        left.shuffle(rng);
        left.truncate(rng.gen_range(0..=5));
        for name in left {
            // A class has each number once.
            let number = number(rng)
                .filter(|number| fields.iter().all(|f: &Stored| f.number != Some(*number)));
            let value = value(rng);
            fields.push(Stored { name, number, value, is_other: false, is_made_up: false });
        }
        if rng.gen_bool(0.7) {
            let value = if rng.r#gen() { Number::U8(255) } else { Number::U32(256) };
            let number = rng.gen_bool(0.3).then_some(9);
            let place = rng.gen_range(0..=fields.len());
            let extra = Stored { name: "extra", number, value, is_other: false, is_made_up: false };
            fields.insert(place, extra);
        }
        let mut kept = |rng: &mut Pcg64| {
            let count = [0, 0, 1, 2, 3, 4].choose(rng).copied().expect("one");
            (0..count)
                .map(|_| Stored {
                    name: names.choose(rng).expect("one"),
                    number: number(rng),
                    value: value(rng),
                    is_other: rng.gen_ratio(1, 8),
                    is_made_up: false,
                })
                .collect()
        };
        let mut inside: Vec<Stored> = kept(rng);
        let mut behind = kept(rng);
        // Sometimes it is the program's own form, but for a field.
        let is_own = rng.gen_ratio(1, 4) && (spec.has_room || inside.is_empty());
        if is_own {
            fields = spec.own(&mut |_| Number::U32(value(rng).number().unwrap_or(1)));
            if rng.r#gen() {
                let last = fields.len() - 1;
                fields[rng.gen_range(0..last)].name = "e";
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                if names.iter().filter(|name| **name == "e").count() > 1 {
                    fields.retain(|field| field.name != "e");
                }
            }
            if spec.has_room {
                inside.extend(made_up(&fields, rng));
            }
            behind.extend(made_up(&fields, rng));
            return Self {
                version: spec.version,
                room: spec.has_room.then_some(fields.len()),
                fields,
                inside,
                behind,
                drop_unknown: false,
            };
        }
        inside.extend(made_up(&fields, rng));
        behind.extend(made_up(&fields, rng));
        let has_room = !inside.is_empty() || rng.gen_ratio(1, 3);
        Self {
            version: rng.gen_range(1..=2),
            room: has_room.then(|| match rng.r#gen() {
                true => fields.len(),
                false => rng.gen_range(0..=fields.len()),
            }),
            fields,
            inside,
            behind,
            drop_unknown: rng.gen_ratio(1, 10),
        }
    }

    /// Without what was kept of other variants, which structs do not have.
    fn of_struct(&self) -> Self {
        let mut this = self.clone();
        this.inside.retain(|kept| !kept.is_other);
        this.behind.retain(|kept| !kept.is_other);
        this
    }

    /// The definition of the class, and those of what is kept.
    fn definitions(&self, is_enum: bool) -> Vec<Item> {
        let field = |stored: &Stored, out: &mut Vec<u8>| {
            out.extend(forge::text(stored.name));
            out.push(u8::from(stored.number.is_some()));
            stored.number.iter().for_each(|number| forge::count(u64::from(*number), out));
            out.extend(stored.value.kind());
        };
        let (class, variant) = if is_enum { ("Choice", "V") } else { ("Case", "") };
        let mut out = forge::text(class);
        out.push(u8::try_from(self.version).expect("small"));
        if is_enum {
            out.extend([1, 2]);
            out.extend([&forge::text("Nothing")[..], &[0], &forge::text(variant)].concat());
        } else {
            out.push(0);
        }
        forge::count((self.fields.len() + usize::from(self.room.is_some())) as u64, &mut out);
        for place in 0..=self.fields.len() {
            if self.room == Some(place) {
                out.extend([&forge::text("rest")[..], &[0, 0x1b]].concat());
            }
            self.fields.get(place).iter().for_each(|stored| field(stored, &mut out));
        }
        let mut items = vec![Item::Definition(out)];
        for (i, stored) in self.inside.iter().chain(&self.behind).enumerate() {
            let variant = if stored.is_other { "W" } else { variant };
            let separator = if variant.is_empty() { "" } else { "::" };
            let name = format!("{class}{separator}{variant}.{}", stored.name);
            let version = 1 + u8::from(stored.is_made_up);
            let mut parts = vec![1];
            field(stored, &mut parts);
            items.push(if i == 0 {
                Item::Definition([&forge::text(&name), &[version, 0][..], &parts].concat())
            } else {
                // Classes of one name have ids of other names.
                forge::with_id(forge::id_of(&format!("{name}#{i}")), &name, version, 0, &parts)
            });
        }
        items
    }

    /// The bytes of a value of the class.
    fn value(&self, is_enum: bool) -> Vec<u8> {
        let mut out = if is_enum { vec![1] } else { vec![] };
        for place in 0..=self.fields.len() {
            if self.room == Some(place) {
                forge::count(self.inside.len() as u64, &mut out);
                for (class, stored) in (2..).zip(&self.inside) {
                    forge::count(class, &mut out);
                    out.extend(stored.value.bytes());
                }
            }
            self.fields.get(place).iter().for_each(|stored| out.extend(stored.value.bytes()));
        }
        out
    }

    /// An object, or one value, with what was kept of it.
    fn alone(&self, holder: u8, is_enum: bool) -> Vec<u8> {
        let mut items = self.definitions(is_enum);
        items.push(forge::record(1, holder, 1, &self.value(is_enum)));
        items.extend(self.kept_records(1));
        forge::save(&items)
    }

    fn kept_records(&self, id: u64) -> Vec<Item> {
        let first = self.inside.len() as u64 + 2;
        let kept = (first..).zip(&self.behind);
        kept.map(|(class, stored)| forge::record(class, 0, id, &stored.value.bytes())).collect()
    }

    /// An object that holds the value: a field of this kind, with the bytes around the value.
    fn held(&self, class: &str, field: &str, kind: &[u8], before: &[u8], times: usize) -> Vec<u8> {
        let mut items = self.definitions(false);
        items.push(forge::class(class, &[(field, kind)]));
        let payload = [before, &self.value(false).repeat(times)].concat();
        items.push(forge::record(items.len() as u64, forge::ADDED, 1, &payload));
        forge::save(&items)
    }

    /// An object that holds the value in a variant.
    fn chosen(&self) -> Vec<u8> {
        let mut items = self.definitions(false);
        let name = "Choice<Case>";
        let mut out = forge::text(name);
        out.extend([1, 1, 2]);
        out.extend([&forge::text("Nothing")[..], &[0], &forge::text("One")].concat());
        out.extend(forge::fields(&[("0", &[0x16, 1])]));
        items.push(Item::Definition(out));
        let payload = [&[1], &self.value(false)[..]].concat();
        items.push(forge::record(items.len() as u64, forge::ADDED, 1, &payload));
        forge::save(&items)
    }

    /// An object that refers to the value as another object.
    fn referred(&self, class: &str) -> Vec<u8> {
        let mut items = self.definitions(false);
        items.push(forge::class(class, &[("case", &[0x17, forge::MET, 1])]));
        items.push(forge::record(items.len() as u64, forge::ADDED, 1, &[2]));
        items.push(forge::record(1, forge::MET, 2, &self.value(false)));
        items.extend(self.kept_records(2));
        forge::save(&items)
    }

    fn options(&self) -> LoadOptions {
        LoadOptions::new().drop_unknown(self.drop_unknown)
    }
}

/// What a load came to: the values, the report, and the save that the program makes of it.
struct Loaded {
    values: Vec<Vec<u32>>,
    rows: BTreeMap<(LoadEvent, String), u64>,
    saved: Vec<u8>,
}

fn rows(report: &LoadReport) -> BTreeMap<(LoadEvent, String), u64> {
    let mut rows = BTreeMap::new();
    for finding in report.rows() {
        let is_other = matches!(finding.event, LoadEvent::Newer | LoadEvent::Converted);
        let class = finding.class.as_str();
        if is_other || matches!(class, "Moved<Case>") {
            continue;
        }
        // Of what was kept before, the class is the field.
        let field = match finding.field.as_deref().filter(|field| !field.is_empty()) {
            Some(field) => field.strip_prefix("V.").unwrap_or(field),
            None => class.split_once('.').map_or("", |(_, field)| field),
        };
        *rows.entry((finding.event, field.to_owned())).or_insert(0) += finding.count;
    }
    rows
}

fn manager<P: Program, T: Holder>(options: LoadOptions) -> SaveManager {
    let saves = Saves::new().load_options(options);
    saves.register_as::<P, dyn Thing>().unwrap();
    saves.register::<T>().unwrap();
    saves.manager()
}

fn object<P: Program, T: Holder>(save: &[u8], options: LoadOptions) -> Result<Loaded, Error> {
    let loaded = manager::<P, T>(options).from_slice(save)?;
    let values = loaded.first::<T>()?.borrow().all();
    let rows = rows(loaded.report());
    Ok(Loaded { values, rows, saved: loaded.to_vec()? })
}

fn value<P: Program, T: Holder>(save: &[u8], options: LoadOptions) -> Result<Loaded, Error> {
    let manager = manager::<P, T>(options);
    let loaded = manager.saves().from_slice::<T>(save)?;
    let rows = rows(loaded.report());
    Ok(Loaded { values: loaded.all(), rows, saved: manager.saves().to_vec(&loaded)? })
}

/// What a save of the program holds of what it kept: that of all its values.
fn kept_in(save: &[u8], spec: &Spec, before: usize, times: usize) -> Vec<Stored> {
    let forged = forge::Forged::parse(save);
    let mut classes: Vec<Vec<u8>> = Vec::new();
    let mut found = Vec::new();
    let short = |bytes: &mut &[u8]| {
        let (length, rest) = bytes.split_first().expect("a length");
        let (text, rest) = rest.split_at(usize::from(*length));
        *bytes = rest;
        std::str::from_utf8(text).unwrap().to_owned()
    };
    // Name and the one field of a class of something kept.
    let read = |class: &[u8], bytes: &mut &[u8]| {
        let mut rest = class;
        let class = short(&mut rest);
        let is_made_up = rest[0] == 2;
        let id = if rest[1] & forge::OWN_ID == 0 { 0 } else { 8 };
        assert_eq!((rest[1] & !forge::OWN_ID, rest[2 + id]), (0, 1), "one field in {class}");
        rest = &rest[3 + id..];
        let name = short(&mut rest);
        assert!(class.ends_with(&format!(".{name}")), "{name} of {class}");
        let number = (rest[0] == 1).then(|| u32::from(rest[1]));
        let kind = rest[1 + usize::from(rest[0])];
        let name = ["a", "b", "c", "d", "e", "extra"].into_iter().find(|known| *known == name);
        Stored {
            name: name.expect("a known name"),
            number,
            value: Number::read(kind, bytes),
            is_other: class.contains("::W."),
            is_made_up,
        }
    };
    for item in &forged.items {
        match item {
            Item::Definition(body) => classes.push(body.clone()),
            Item::Record { class, holder: 0, payload, .. }
                if short(&mut &classes[usize::try_from(*class).unwrap() - 1][..])
                    == "persist.UnknownAt" =>
            {
                // The steps, here all fields, and then values with their classes.
                let (steps, mut rest) = payload.split_first().expect("a count");
                for _ in 0..*steps {
                    assert_eq!(rest[0], 0, "a field in {payload:?}");
                    rest = &rest[1..];
                    short(&mut rest);
                }
                let count = rest[0];
                rest = &rest[1..];
                for _ in 0..count {
                    let class = &classes[usize::from(rest[0]) - 1];
                    rest = &rest[1..];
                    found.push(read(class, &mut rest));
                }
                assert!(rest.is_empty(), "{rest:?} left");
            }
            Item::Record { class, holder: 0, payload, .. } => {
                found.push(read(&classes[usize::try_from(*class).unwrap() - 1], &mut &payload[..]));
            }
            Item::Record { class, payload, .. } => {
                let name = short(&mut &classes[usize::try_from(*class).unwrap() - 1][..]);
                if !spec.has_room || (name == "Shared") {
                    continue;
                }
                let before = if name == "Case" { 0 } else { before };
                let mut rest = &payload[before..];
                for _ in 0..times {
                    rest = &rest[4 * spec.fields.len()..];
                    let count = rest[0];
                    rest = &rest[1..];
                    for _ in 0..count {
                        let class = &classes[usize::from(rest[0]) - 1];
                        rest = &rest[1..];
                        found.push(read(class, &mut rest));
                    }
                }
                assert!(rest.is_empty(), "{rest:?} left");
            }
        }
    }
    found.sort();
    found
}

type Load<'l> = &'l dyn Fn(&[u8], LoadOptions) -> Result<Loaded, Error>;

/// A path on which a case is read.
struct Path<'l> {
    name: &'static str,
    place: Place,
    load: Load<'l>,
    save: Vec<u8>,
    /// True if what was kept of an object can be given.
    gives_kept: bool,
    /// Bytes before the value in a new save.
    before: usize,
    times: usize,
}

fn compare<P: Program + Holder, V: Program + Holder>(save: &Save) {
    let of_struct = &save.of_struct();
    let path = |name, place, load, save| Path {
        name,
        place,
        load,
        save,
        gives_kept: false,
        before: 0,
        times: 1,
    };
    let held =
        |class: &str, kind: &[u8], before: &[u8]| of_struct.held(class, "case", kind, before, 1);
    let class: &[u8] = &[0x16, 1];
    let dynamic = [&[0x18], &forge::text("Thing")[..]].concat();
    let paths = [
        Path {
            gives_kept: true,
            ..path("object", Place::Object, &object::<P, P>, of_struct.alone(forge::ADDED, false))
        },
        Path {
            gives_kept: true,
            ..path("value", Place::Object, &value::<P, P>, of_struct.alone(forge::VALUE, false))
        },
        path("field", Place::Lasting, &object::<P, Inside<P>>, held("Inside<Case>", class, &[])),
        Path {
            before: 1,
            times: 2,
            ..path(
                "list",
                Place::Inner,
                &object::<P, Many<P>>,
                of_struct.held("Many<Case>", "cases", &[0x11, 0x16, 1], &[2], 2),
            )
        },
        path("box", Place::Lasting, &object::<P, Boxed<P>>, held("Boxed<Case>", class, &[])),
        Path {
            before: 1,
            ..path("variant", Place::Lasting, &object::<P, Choice<P>>, of_struct.chosen())
        },
        Path {
            before: 1,
            ..path(
                "trait object",
                Place::Lasting,
                &object::<P, Dynamic>,
                held("Dynamic", &dynamic, &[1]),
            )
        },
        path("shared", Place::Inner, &object::<P, Shared<P>>, held("Shared", class, &[])),
        Path {
            gives_kept: true,
            ..path(
                "inlined",
                Place::Lasting,
                &object::<P, Inside<P>>,
                of_struct.referred("Inside<Case>"),
            )
        },
        Path {
            before: 1,
            ..path("moved", Place::Inner, &object::<P, Moved<P>>, held("Moved<Case>", class, &[]))
        },
    ];
    for path in paths {
        check(of_struct, &P::SPEC, &path);
    }
    let of_variant = [
        Path {
            gives_kept: true,
            before: 1,
            ..path("enum", Place::Object, &object::<V, V>, save.alone(forge::ADDED, true))
        },
        Path {
            gives_kept: true,
            before: 1,
            ..path("enum value", Place::Object, &value::<V, V>, save.alone(forge::VALUE, true))
        },
    ];
    for path in of_variant {
        check(save, &V::SPEC, &path);
    }
}

/// Checks what one program makes of a case on one path.
fn check(save: &Save, spec: &Spec, path: &Path<'_>) {
    let mut kept = save.inside.clone();
    if path.gives_kept {
        kept.extend(save.behind.iter().cloned());
    }
    let expected =
        twin::load((&save.fields, &kept), save.version, spec, path.place, save.drop_unknown);
    let loaded = (path.load)(&path.save, save.options());
    let about =
        || format!("program {}, path {}, {save:?}\ntwin: {expected:?}", spec.name, path.name);
    let loaded = match (&expected, loaded) {
        (Outcome::Refused(errors), Err(error)) => {
            let field = error.field().unwrap_or_default();
            let last = field.rsplit('.').next().unwrap_or_default();
            let is_expected =
                errors.iter().any(|(kind, name)| *kind == error.kind() && name == last);
            assert!(is_expected, "{error:?} in {field}\n{}", about());
            return;
        }
        (Outcome::Refused(_), Ok(loaded)) => {
            panic!("loaded {:?}: {}", loaded.values, about());
        }
        (Outcome::Loaded(_), Err(error)) => panic!("{error:?}\n{}", about()),
        (Outcome::Loaded(_), Ok(loaded)) => loaded,
    };
    let Outcome::Loaded(found) = &expected else { return };
    compare_found(&loaded, found, spec, path, &about);

    // The save that comes of it is in the program's own form.
    let own = spec.own(&mut |i| Number::U32(found.values[i]));
    let expected = twin::load((&own, &found.kept), spec.version, spec, path.place, false);
    let about = || format!("{}\nsecond {expected:?}", about());
    let Outcome::Loaded(found) = &expected else {
        panic!("second refused by the twin {}", about());
    };
    let again = match (path.load)(&loaded.saved, LoadOptions::default()) {
        Ok(again) => again,
        Err(error) => panic!("second load: {error:?}\n{}", about()),
    };
    compare_found(&again, found, spec, path, &about);
}

/// Checks what a load made against what the twin says.
fn compare_found(
    loaded: &Loaded,
    Found { values, kept, rows }: &Found,
    spec: &Spec,
    path: &Path<'_>,
    about: &dyn Fn() -> String,
) {
    assert_eq!(loaded.values, vec![values.clone(); path.times], "values: {}", about());
    let times = path.times as u64;
    let rows: BTreeMap<_, _> =
        rows.iter().map(|(row, count)| (row.clone(), count * times)).collect();
    assert_eq!(loaded.rows, rows, "report: {}", about());
    let mut wanted: Vec<Stored> = vec![kept.clone(); path.times].concat();
    wanted.sort();
    let found = kept_in(&loaded.saved, spec, path.before, path.times);
    assert_eq!(found, wanted, "kept: {}", about());
}

fn compare_one(seed: u64) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let (spec, compare) = PROGRAMS.choose(&mut rng).expect("one");
    compare(&Save::random(&mut rng, spec));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: short_or_long(64, 256), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_fields_are_paired_as_the_rules_say(seed in any::<u64>()) {
        compare_one(seed);
    }
}

/// Those that are tried each time.
#[test]
fn chosen_fields_are_paired_as_the_rules_say() {
    (0..short_or_long(50, 150)).for_each(compare_one);
}
