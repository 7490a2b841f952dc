//! Fields set by path against the same done in Rust.

use persist::{ObjectId, Value, World};
use rand::Rng;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use super::thing::{Item, Metres, Mood, Number, Pet, Place, Secret, Slot, Thing};

/// Changes a thing in Rust, and returns the value that the field then has.
type Change = Box<dyn Fn(&mut Thing, &mut Pcg64) -> Value>;

struct Leaf {
    path: String,
    value: Value,
    change: Change,
}

fn float(random: &mut Pcg64) -> f32 {
    random.gen_range(-1e9..1e9)
}

fn text(random: &mut Pcg64) -> String {
    (0..random.gen_range(0..300)).map(|_| random.r#gen::<char>()).filter(|c| *c != '!').collect()
}

fn place(random: &mut Pcg64) -> Place {
    Place { x: float(random), y: float(random) }
}

fn many<T>(random: &mut Pcg64, make: impl Fn(&mut Pcg64) -> T) -> Vec<T> {
    (0..random.gen_range(0..5)).map(|_| make(random)).collect()
}

fn thing(random: &mut Pcg64, ids: &[ObjectId]) -> Thing {
    let id =
        |random: &mut Pcg64| random.r#gen::<bool>().then(|| ids[random.gen_range(0..ids.len())]);
    let mut thing = Thing {
        position: place(random),
        level: random.r#gen(),
        alive: random.r#gen(),
        letter: random.r#gen(),
        name: text(random),
        mood: Mood::Calm,
        pet: random.r#gen::<bool>().then(|| Pet { name: text(random), at: place(random) }),
        boxed: Box::new(place(random)),
        cell: place(random).into(),
        items: many(random, |random| Item {
            count: random.r#gen(),
            spots: many(random, |r| r.r#gen()),
        }),
        grid: [[random.r#gen(), random.r#gen()], [random.r#gen(), random.r#gen()]],
        pair: (random.r#gen(), place(random)),
        prices: many(random, |random| (text(random), random.r#gen())).into_iter().collect(),
        by_slot: [Slot::Head, Slot::Hand].map(|slot| (slot, random.r#gen())).into(),
        by_number: many(random, |random| (random.r#gen(), text(random))).into_iter().collect(),
        length: Metres(float(random)),
        number: Number(random.r#gen()),
        friend: id(random),
        secret: Secret(text(random)),
        cache: vec![7],
    };
    if random.r#gen() {
        thing.mood = Mood::Angry { cause: place(random), at: id(random) };
    }
    thing
}

/// Enters a place: two leaves.
macro_rules! place {
    ($leaves:ident, $path:expr, $place:expr, $of:ident => $get:expr) => {
        let path: String = $path.into();
        let here: &Place = &$place;
        $leaves.push(leaf(&format!("{path}.x"), here.x, move |$of, random| {
            let new = float(random);
            $get.x = new;
            new.into()
        }));
        $leaves.push(leaf(&format!("{path}.y"), here.y, move |$of, random| {
            let new = float(random);
            $get.y = new;
            new.into()
        }));
    };
}

fn leaf(
    path: &str,
    value: impl Into<Value>,
    change: impl Fn(&mut Thing, &mut Pcg64) -> Value + 'static,
) -> Leaf {
    Leaf { path: format!("game.Thing:{path}"), value: value.into(), change: Box::new(change) }
}

/// Enters a field that takes any value of its type.
macro_rules! plain {
    ($leaves:ident, $path:expr, $value:expr, $random:ident => $new:expr, $of:ident => $get:expr) => {
        $leaves.push(leaf(&$path, $value, move |$of, $random| {
            let new = $new;
            $get = new.clone();
            new.into()
        }));
    };
}

/// Every leaf that a thing has at the time.
fn leaves(thing: &Thing) -> Vec<Leaf> {
    let mut all = Vec::new();
    place!(all, "place", thing.position, of => of.position);
    place!(all, "boxed", thing.boxed, of => of.boxed);
    place!(all, "cell", thing.cell.borrow(), of => of.cell.get_mut());
    place!(all, "pair.1", thing.pair.1, of => of.pair.1);
    plain!(all, "pair.0", thing.pair.0, random => random.r#gen::<u8>(), of => of.pair.0);
    plain!(all, "level", thing.level, random => random.r#gen::<u16>(), of => of.level);
    plain!(all, "alive", thing.alive, random => random.r#gen::<bool>(), of => of.alive);
    plain!(all, "letter", thing.letter, random => random.r#gen::<char>(), of => of.letter);
    plain!(all, "name", thing.name.clone(), random => text(random), of => of.name);
    plain!(all, "length", thing.length.0, random => float(random), of => of.length.0);
    plain!(all, "number.0", thing.number.0, random => random.r#gen::<u64>(), of => of.number.0);
    plain!(all, "secret", thing.secret.0.clone(), random => text(random), of => of.secret.0);
    if let Some(pet) = &thing.pet {
        place!(all, "pet.at", pet.at, of => of.pet.as_mut().expect("it is there").at);
        plain!(all, "pet.name", pet.name.clone(), random => text(random), of => of.pet.as_mut().expect("it is there").name);
    }
    if let Mood::Angry { cause, .. } = &thing.mood {
        place!(all, "mood.cause", cause, of => match &mut of.mood {
            Mood::Angry { cause, .. } => cause,
            Mood::Calm => panic!("it is angry"),
        });
    }
    for (i, item) in thing.items.iter().enumerate() {
        plain!(all, format!("items[{i}].count"), item.count, random => random.r#gen::<u32>(), of => of.items[i].count);
        for (j, spot) in item.spots.iter().enumerate() {
            plain!(all, format!("items[{i}].spots[{j}]"), *spot, random => random.r#gen::<i16>(), of => of.items[i].spots[j]);
        }
    }
    for i in 0..2 {
        for j in 0..2 {
            plain!(all, format!("grid[{i}][{j}]"), thing.grid[i][j], random => random.r#gen::<f64>(), of => of.grid[i][j]);
        }
    }
    for (key, price) in &thing.prices {
        let (path, key) = (format!("prices[{}]", Value::from(&**key)), key.clone());
        plain!(all, path, *price, random => random.r#gen::<i64>(), of => *of.prices.get_mut(&key).expect("it is there"));
    }
    for (slot, value) in &thing.by_slot {
        let slot = *slot;
        plain!(all, format!("by_slot[{slot:?}]"), *value, random => random.r#gen::<u8>(), of => *of.by_slot.get_mut(&slot).expect("it is there"));
    }
    for (number, value) in &thing.by_number {
        let number = *number;
        plain!(all, format!("by_number[{number}]"), value.clone(), random => text(random), of => *of.by_number.get_mut(&number).expect("it is there"));
    }
    all
}

#[test]
fn every_leaf_is_set_as_rust_sets_it() -> persist::Result<()> {
    let mut random = Pcg64::new(7, 11);
    for _ in 0..60 {
        let mut world = World::new();
        let ids = ["Ada", "Bob", "Cat"].map(|name| world.spawn(name));
        let mut twin = thing(&mut random, &ids);
        world.attach(ids[0], twin.clone())?;
        let other = thing(&mut random, &ids);
        world.attach(ids[1], other.clone())?;
        for _ in 0..3 {
            let mut all = leaves(&twin);
            all.shuffle(&mut random);
            for leaf in all {
                let found = world.get_field(ids[0], &leaf.path)?;
                assert_eq!(found, leaf.value, "{}", leaf.path);
                let new = (leaf.change)(&mut twin, &mut random);
                assert_eq!(world.set_field(ids[0], &leaf.path, new)?, leaf.value, "{}", leaf.path);
                assert_eq!(world.get::<Thing>(ids[0]), Some(&twin), "{}", leaf.path);
            }
        }
        assert_eq!(world.get::<Thing>(ids[1]), Some(&other));
    }
    Ok(())
}
