//! Random edits of a schema, as of a program of which only the lock is left.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::model::{Field, Form, Kind, Schema};

const NAMES: [&str; 16] =
    ["a", "b", "c", "d", "e", "f", "g", "aa", "bb", "cc", "dd", "x", "y", "z", "value", "next"];
const CLASSES: [&str; 7] = ["Inner", "Within", "Mood", "Node", "Level", "Name", "Pair"];
const VARIANTS: [&str; 7] = ["Calm", "Angry", "Sad", "Furious", "Happy", "Joyful", "Other"];

/// Changes a few things; what pointers lead to is registered in every program.
pub(crate) fn change(schema: &mut Schema, rng: &mut Pcg64) {
    for _ in 0..*[1, 1, 1, 2, 3].choose(rng).expect("one") {
        edit(schema, rng);
    }
    let mut met = Vec::new();
    for class in &mut schema.classes {
        class.form.kinds(&mut |kind| {
            kind.visit(&mut |kind| {
                if let Kind::Reference(_, name) = kind {
                    met.push(name.clone());
                }
            });
        });
    }
    met.retain(|name| !schema.objects.contains(name));
    met.sort();
    met.dedup();
    schema.objects.extend(met);
}

/// Changes one thing, if there is such a thing.
fn edit(schema: &mut Schema, rng: &mut Pcg64) {
    let names: Vec<String> = schema.classes.iter().map(|class| class.name.clone()).collect();
    let at = rng.gen_range(0..schema.classes.len());
    match rng.gen_range(0..16) {
        0 => {
            let name = *CLASSES.choose(rng).expect("one");
            if !names.iter().any(|known| known == name) && names[at] != "Case" {
                rename(schema, &names[at], name);
            }
        }
        1 => {
            let class = &mut schema.classes[at];
            class.version = rng.gen_range(1..=3);
        }
        2 | 3 => {
            let to = rng.gen_range(0..schema.classes.len());
            let from = fields(schema, at, rng).filter(|fields| !fields.is_empty()).map(|fields| {
                let field = rng_index(fields.len());
                fields.remove(field)
            });
            if let (Some(field), Some(fields)) = (from, fields(schema, to, rng))
                && fields.iter().all(|known| {
                    known.name != field.name
                        && (known.number.is_none() || known.number != field.number)
                })
            {
                fields.push(field);
            }
        }
        4 | 5 => {
            if let Form::Enum(variants) = &mut schema.classes[at].form {
                let name = *VARIANTS.choose(rng).expect("one");
                let is_free = variants.iter().all(|(known, _)| known != name);
                let place = rng.gen_range(0..variants.len());
                match rng.gen_range(0..4) {
                    0 if is_free => variants[place].0 = name.to_owned(),
                    1 if variants.len() > 1 => drop(variants.remove(place)),
                    2 if is_free => {
                        let fields = variants[place].1.clone();
                        variants.insert(place, (name.to_owned(), fields));
                    }
                    _ => variants.shuffle(rng),
                }
            }
        }
        change => {
            let kind = random_kind(&names, rng);
            let Some(fields) = fields(schema, at, rng) else { return };
            let name = *NAMES.choose(rng).expect("one");
            let is_free = fields.iter().all(|field| field.name != name);
            let number = rng.gen_range(1..5);
            let is_number_free = fields.iter().all(|field| field.number != Some(number));
            if fields.is_empty() {
                return;
            }
            let place = rng.gen_range(0..fields.len());
            match change {
                6 if is_free => fields[place].name = name.to_owned(),
                7 => drop(fields.remove(place)),
                8 if is_free => {
                    let number = (is_number_free && rng.gen_ratio(1, 4)).then_some(number);
                    fields.insert(place, Field { name: name.to_owned(), number, kind });
                }
                9 => fields[place].kind = kind,
                10 => fields[place].number = None,
                11 if is_number_free => fields[place].number = Some(number),
                12 => {
                    let other = rng.gen_range(0..fields.len());
                    let name = fields[place].name.clone();
                    fields[place].name = std::mem::replace(&mut fields[other].name, name);
                }
                13 => fields.shuffle(rng),
                _ => {
                    let old = std::mem::replace(&mut fields[place].kind, Kind::Plain(0));
                    fields[place].kind = turned(old, rng);
                }
            }
        }
    }
}

/// One that is not asked of the generator, which is borrowed then.
fn rng_index(count: usize) -> usize {
    count / 2
}

fn fields<'s>(schema: &'s mut Schema, class: usize, rng: &mut Pcg64) -> Option<&'s mut Vec<Field>> {
    match &mut schema.classes[class].form {
        Form::Struct(fields) => Some(fields),
        Form::Enum(variants) => {
            let at = rng.gen_range(0..variants.len());
            Some(&mut variants[at].1)
        }
        Form::Bare(_) => None,
    }
}

/// A kind that something may have become.
fn turned(kind: Kind, rng: &mut Pcg64) -> Kind {
    let boxed = Box::new(kind.clone());
    match (kind, rng.gen_range(0..6)) {
        (Kind::Plain(3..=14), 0..=3) => Kind::Plain(rng.gen_range(3..=14)),
        (Kind::List(part), 0..=1) => Kind::Set(part),
        (Kind::List(part), 2) => Kind::Array(part, rng.gen_range(0..4)),
        (Kind::List(part), 3) if matches!(&*part, Kind::Tuple(parts) if parts.len() == 2) => {
            match *part {
                Kind::Tuple(parts) => {
                    Kind::Map(Box::new(parts[0].clone()), Box::new(parts[1].clone()))
                }
                part => part,
            }
        }
        (Kind::Set(part), 0..=2) => Kind::List(part),
        (Kind::Map(key, value), 0..=2) => Kind::List(Box::new(Kind::Tuple(vec![*key, *value]))),
        (Kind::Array(part, _), 0..=1) => Kind::List(part),
        (Kind::Array(part, length), 2..=3) => Kind::Array(part, length + 1),
        (Kind::Option(part), 0..=2) => *part,
        (Kind::Class(name), 0..=1) => Kind::Reference(false, name),
        (Kind::Reference(_, name), 0..=1) => Kind::Class(name),
        (Kind::Reference(is_weak, name), 2) => Kind::Reference(!is_weak, name),
        (_, 4) => Kind::List(boxed),
        (_, 5) => Kind::Option(boxed),
        (kind, _) => kind,
    }
}

fn random_kind(classes: &[String], rng: &mut Pcg64) -> Kind {
    let part = Box::new(match rng.gen_range(0..4) {
        0 => Kind::Plain(15),
        1 => Kind::Class(classes.choose(rng).expect("one").clone()),
        _ => Kind::Plain(rng.gen_range(0..15)),
    });
    match rng.gen_range(0..8) {
        0 => Kind::Option(part),
        1 => Kind::List(part),
        2 => Kind::Set(Box::new(Kind::Plain(4))),
        3 => Kind::Map(Box::new(Kind::Plain(15)), part),
        4 => Kind::Tuple(vec![Kind::Plain(3), *part]),
        _ => *part,
    }
}

/// Gives a class another name, wherever it stands.
fn rename(schema: &mut Schema, from: &str, to: &str) {
    for class in &mut schema.classes {
        if class.name == from {
            to.clone_into(&mut class.name);
        }
        class.form.kinds(&mut |kind| {
            kind.visit(&mut |kind| {
                if let Kind::Class(name) | Kind::Reference(_, name) = kind
                    && name == from
                {
                    to.clone_into(name);
                }
            });
        });
    }
    for object in &mut schema.objects {
        if object == from {
            to.clone_into(object);
        }
    }
}
