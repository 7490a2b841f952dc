//! A save of hecs: its columns, through serde.

use hecs::serialize::column::{
    self, DeserializeContext, SerializeContext, deserialize_column, try_serialize, try_serialize_id,
};
use hecs::{Archetype, ColumnBatchBuilder, ColumnBatchType, World};
use serde::de::SeqAccess;
use serde::ser::SerializeTuple;
use serde::{Deserialize, Serialize};

use super::{Health, Name, Position, Velocity};

#[derive(Serialize, Deserialize, Clone, Copy)]
enum Id {
    Name,
    Position,
    Velocity,
    Health,
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
        try_serialize_id::<Name, _, _>(archetype, &Id::Name, &mut out)?;
        try_serialize_id::<Position, _, _>(archetype, &Id::Position, &mut out)?;
        try_serialize_id::<Velocity, _, _>(archetype, &Id::Velocity, &mut out)?;
        try_serialize_id::<Health, _, _>(archetype, &Id::Health, &mut out)?;
        out.end()
    }

    fn serialize_components<S: SerializeTuple>(
        &mut self,
        archetype: &Archetype,
        mut out: S,
    ) -> Result<S::Ok, S::Error> {
        try_serialize::<Name, _>(archetype, &mut out)?;
        try_serialize::<Position, _>(archetype, &mut out)?;
        try_serialize::<Velocity, _>(archetype, &mut out)?;
        try_serialize::<Health, _>(archetype, &mut out)?;
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
                Id::Name => batch.add::<Name>(),
                Id::Position => batch.add::<Position>(),
                Id::Velocity => batch.add::<Velocity>(),
                Id::Health => batch.add::<Health>(),
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
                Id::Name => deserialize_column::<Name, _>(count, &mut columns, batch)?,
                Id::Position => deserialize_column::<Position, _>(count, &mut columns, batch)?,
                Id::Velocity => deserialize_column::<Velocity, _>(count, &mut columns, batch)?,
                Id::Health => deserialize_column::<Health, _>(count, &mut columns, batch)?,
            }
        }
        Ok(())
    }
}

pub(crate) fn save(world: &World) -> Vec<u8> {
    let mut out = postcard::Serializer { output: postcard::ser_flavors::AllocVec::new() };
    column::serialize(world, &mut Context::default(), &mut out).expect("it serializes");
    postcard::ser_flavors::Flavor::finalize(out.output).expect("memory")
}

pub(crate) fn load(save: &[u8]) -> World {
    let mut input = postcard::Deserializer::from_bytes(save);
    column::deserialize(&mut Context::default(), &mut input).expect("it was saved")
}
