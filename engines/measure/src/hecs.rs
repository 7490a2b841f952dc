//! Measures 100,000 entities with five components in hecs: `cargo run --release --bin hecs`.

mod rounds;

use hecs::serialize::column::{
    self, DeserializeContext, SerializeContext, deserialize_column, try_serialize, try_serialize_id,
};
use hecs::{Archetype, ColumnBatchBuilder, ColumnBatchType, Entity, World};
use persist::Persist;
use persist_hecs::{WorldSaves, entity};
use rounds::{fastest, row};
use serde::de::SeqAccess;
use serde::ser::SerializeTuple;
use serde::{Deserialize, Serialize};

const COUNT: u32 = 100_000;

#[derive(Persist, Clone, Serialize, Deserialize)]
#[persist(component)]
struct Position {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Persist, Clone, Serialize, Deserialize)]
#[persist(component)]
struct Velocity {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Persist, Clone, Serialize, Deserialize)]
#[persist(component)]
struct Health {
    now: u32,
    most: u32,
}

#[derive(Persist, Clone, Serialize, Deserialize)]
#[persist(component)]
struct Title(String);

#[derive(Persist, Clone, Serialize, Deserialize)]
#[persist(component)]
struct Hunts(#[persist(with = entity)] Entity);

fn world() -> World {
    let mut world = World::new();
    let mut last = Entity::DANGLING;
    for i in 0..COUNT {
        #[expect(clippy::cast_precision_loss)]
        let x = i as f32;
        last = world.spawn((
            Position { x, y: 1.0, z: 2.0 },
            Velocity { x: 0.5, y: x, z: 0.0 },
            Health { now: i % 100, most: 100 },
            Title(format!("unit {i}")),
            Hunts(last),
        ));
    }
    world
}

fn worlds() -> WorldSaves {
    let mut worlds = WorldSaves::new();
    let result = worlds.register::<Position>().and_then(|worlds| {
        worlds.register::<Velocity>()?.register::<Health>()?.register::<Title>()?.register::<Hunts>()
    });
    result.expect("their names are free");
    worlds
}

#[derive(Serialize, Deserialize, Clone, Copy)]
enum Id {
    Position,
    Velocity,
    Health,
    Title,
    Hunts,
}

#[derive(Default)]
struct Context {
    ids: Vec<Id>,
}

impl SerializeContext for Context {
    fn component_count(&self, archetype: &Archetype) -> usize {
        archetype.component_types().len()
    }

    fn serialize_component_ids<S: SerializeTuple>(
        &mut self,
        archetype: &Archetype,
        mut out: S,
    ) -> Result<S::Ok, S::Error> {
        try_serialize_id::<Position, _, _>(archetype, &Id::Position, &mut out)?;
        try_serialize_id::<Velocity, _, _>(archetype, &Id::Velocity, &mut out)?;
        try_serialize_id::<Health, _, _>(archetype, &Id::Health, &mut out)?;
        try_serialize_id::<Title, _, _>(archetype, &Id::Title, &mut out)?;
        try_serialize_id::<Hunts, _, _>(archetype, &Id::Hunts, &mut out)?;
        out.end()
    }

    fn serialize_components<S: SerializeTuple>(
        &mut self,
        archetype: &Archetype,
        mut out: S,
    ) -> Result<S::Ok, S::Error> {
        try_serialize::<Position, _>(archetype, &mut out)?;
        try_serialize::<Velocity, _>(archetype, &mut out)?;
        try_serialize::<Health, _>(archetype, &mut out)?;
        try_serialize::<Title, _>(archetype, &mut out)?;
        try_serialize::<Hunts, _>(archetype, &mut out)?;
        out.end()
    }
}

impl DeserializeContext for Context {
    fn deserialize_component_ids<'de, A: SeqAccess<'de>>(
        &mut self,
        mut ids: A,
    ) -> Result<ColumnBatchType, A::Error> {
        self.ids.clear();
        let mut batch = ColumnBatchType::new();
        while let Some(id) = ids.next_element()? {
            match id {
                Id::Position => batch.add::<Position>(),
                Id::Velocity => batch.add::<Velocity>(),
                Id::Health => batch.add::<Health>(),
                Id::Title => batch.add::<Title>(),
                Id::Hunts => batch.add::<Hunts>(),
            };
            self.ids.push(id);
        }
        Ok(batch)
    }

    fn deserialize_components<'de, A: SeqAccess<'de>>(
        &mut self,
        count: u32,
        mut columns: A,
        batch: &mut ColumnBatchBuilder,
    ) -> Result<(), A::Error> {
        for id in &self.ids {
            match id {
                Id::Position => deserialize_column::<Position, _>(count, &mut columns, batch)?,
                Id::Velocity => deserialize_column::<Velocity, _>(count, &mut columns, batch)?,
                Id::Health => deserialize_column::<Health, _>(count, &mut columns, batch)?,
                Id::Title => deserialize_column::<Title, _>(count, &mut columns, batch)?,
                Id::Hunts => deserialize_column::<Hunts, _>(count, &mut columns, batch)?,
            }
        }
        Ok(())
    }
}

fn columns(world: &World) -> Vec<u8> {
    let mut out = postcard::Serializer { output: postcard::ser_flavors::AllocVec::new() };
    column::serialize(world, &mut Context::default(), &mut out).expect("it serializes");
    postcard::ser_flavors::Flavor::finalize(out.output).expect("memory")
}

fn from_columns(save: &[u8]) -> World {
    let mut input = postcard::Deserializer::from_bytes(save);
    column::deserialize(&mut Context::default(), &mut input).expect("it was saved")
}

fn main() {
    let world = world();
    println!("| {COUNT} entities of five components | time | bytes |");
    println!("| --- | --- | --- |");

    let theirs = columns(&world);
    let time = fastest(|| (), |()| columns(&world));
    row("hecs' columns by postcard, save", time, Some(theirs.len()));
    row("hecs' columns by postcard, load", fastest(|| (), |()| from_columns(&theirs)), None);

    let ours = worlds().to_vec(&world).expect("it saves");
    let time = fastest(worlds, |mut worlds| (worlds.to_vec(&world).expect("it saves"), worlds));
    row("persist-hecs, first save", time, Some(ours.len()));
    let mut again = worlds();
    again.to_vec(&world).expect("it saves");
    let time = fastest(|| (), |()| again.to_vec(&world).expect("it saves"));
    row("persist-hecs, later saves", time, None);
    let time = fastest(|| (), |()| again.mirror(&world).expect("it copies").objects().len());
    row("- of which the mirror", time, None);
    let time = fastest(worlds, |mut worlds| {
        worlds.mirror(&world).expect("it copies");
        worlds
    });
    row("- the first mirror", time, None);
    let time = fastest(
        || (World::new(), worlds()),
        |(mut world, mut worlds)| {
            worlds.from_slice(&mut world, &ours).expect("it loads");
            (world, worlds)
        },
    );
    row("persist-hecs, load", time, None);
}
