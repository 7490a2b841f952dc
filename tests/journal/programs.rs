//! A program of yesterday, and what it has become.

use persist::history::{CommandEdit, Flush};
use persist::{
    Command, Component, History, ObjectId, Persist, Result, Saves, Session, Value, World,
};

use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

#[persist::dynamic]
pub(crate) trait Tool: Send {}

/// Yesterday's classes.
pub(crate) mod old {
    use super::*;

    #[derive(Persist, Default)]
    #[persist(class = "Transform")]
    pub(crate) struct Transform {
        pub(crate) x: f32,
        pub(crate) y: f32,
        pub(crate) gone: u8,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Bag")]
    pub(crate) struct Bag {
        pub(crate) items: Vec<u8>,
        pub(crate) first: String,
        pub(crate) last: String,
        pub(crate) owner: Option<ObjectId>,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Score")]
    pub(crate) struct Score {
        pub(crate) points: u32,
        pub(crate) lives: u8,
    }

    #[derive(Persist)]
    #[persist(class = "Belt")]
    pub(crate) struct Belt {
        pub(crate) tool: Box<dyn Tool>,
        pub(crate) length: u8,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Hammer")]
    pub(crate) struct Hammer {
        pub(crate) weight: u8,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Saw")]
    pub(crate) struct Saw {
        pub(crate) teeth: Vec<u16>,
    }

    #[derive(Persist)]
    #[persist(class = "Rename")]
    pub(crate) struct Rename {
        pub(crate) object: ObjectId,
        pub(crate) name: String,
        pub(crate) times: u8,
    }

    /// Changes the world itself.
    #[derive(Persist)]
    #[persist(class = "Raise")]
    pub(crate) struct Raise {
        pub(crate) object: ObjectId,
        pub(crate) by: f32,
    }

    impl Raise {
        fn add(&self, world: &mut World, by: f32) {
            if let Some(transform) = world.get_mut::<Transform>(self.object) {
                transform.y += by;
            }
        }
    }

    impl Command for Raise {
        fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
            self.add(edit.target(), self.by);
            Ok(())
        }

        fn undo(&mut self, world: &mut World) -> Result<()> {
            self.add(world, -self.by);
            Ok(())
        }
    }

    impl Tool for Hammer {}
    impl Tool for Saw {}
    impl Component for Transform {}
    impl Component for Bag {}
    impl Component for Belt {}

    impl Command for Rename {
        fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
            self.times += 1;
            edit.rename(self.object, &self.name).map(drop)
        }

        fn undo(&mut self, _: &mut World) -> Result<()> {
            Ok(())
        }
    }

    pub(crate) fn session(disk: &Disk) -> Result<Session<World>> {
        let mut history = History::new(None);
        history.set_merge_window(Some(std::time::Duration::MAX));
        let options = Session::with(saves(disk)?, history).flush(Flush::OnIdle);
        let options = options.register_command::<Rename>()?.register_command::<Raise>()?;
        Ok(options.open(SAVE, JOURNAL)?.0)
    }

    pub(crate) fn saves(disk: &Disk) -> Result<Saves> {
        let saves = super::super::driver::saves_on(disk);
        saves.register_component::<Transform>()?;
        saves.register_component::<Bag>()?;
        saves.register_resource::<Score>()?;
        saves.register_as::<Hammer, dyn Tool>()?;
        saves.register_as::<Saw, dyn Tool>()?;
        saves.register_component::<Belt>()?;
        Ok(saves)
    }
}

/// Today's, registered in another order.
pub(crate) mod new {
    use super::*;
    use persist::Record;

    #[derive(Persist, Default)]
    #[persist(class = "Transform")]
    pub(crate) struct Transform {
        #[persist(default = 1.0)]
        pub(crate) z: f32,
        #[persist(alias = "y")]
        pub(crate) height: f64,
        #[persist(convert = rounded)]
        pub(crate) x: i32,
    }

    #[allow(clippy::cast_possible_truncation, reason = "it is to lose what is behind the point")]
    fn rounded(x: f32) -> i32 {
        x.round() as i32
    }

    #[derive(Persist, Default)]
    #[persist(class = "Bag", version = 2, migrate(1 = joined))]
    pub(crate) struct Bag {
        pub(crate) owner: Option<ObjectId>,
        pub(crate) items: Vec<u32>,
        pub(crate) ends: String,
    }

    fn joined(record: &mut Record, _: u32) {
        let mut text = |name: &str| match record.take(name) {
            Some(Value::Text(text)) => text.to_string(),
            _ => String::new(),
        };
        let ends = format!("{} to {}", text("first"), text("last"));
        record.set("ends", ends);
    }

    #[derive(Persist, Default)]
    #[persist(class = "Points", alias = "Score")]
    pub(crate) struct Points {
        pub(crate) lives: u64,
        pub(crate) points: u32,
    }

    #[derive(Persist)]
    #[persist(class = "Belt")]
    pub(crate) struct Belt {
        pub(crate) tool: Box<dyn Tool>,
        pub(crate) length: u8,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Hammer")]
    pub(crate) struct Hammer {
        pub(crate) weight: u8,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Saw")]
    pub(crate) struct Saw {
        pub(crate) teeth: Vec<u16>,
        #[persist(default = true)]
        pub(crate) is_sharp: bool,
    }

    #[derive(Persist)]
    #[persist(class = "Rename")]
    pub(crate) struct Rename {
        #[persist(default)]
        pub(crate) why: String,
        pub(crate) times: u32,
        pub(crate) object: ObjectId,
        pub(crate) name: String,
    }

    #[derive(Persist)]
    #[persist(class = "Raise")]
    pub(crate) struct Raise {
        pub(crate) by: f64,
        pub(crate) object: ObjectId,
    }

    impl Raise {
        fn add(&self, world: &mut World, by: f64) {
            if let Some(transform) = world.get_mut::<Transform>(self.object) {
                transform.height += by;
            }
        }
    }

    impl Command for Raise {
        fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
            self.add(edit.target(), self.by);
            Ok(())
        }

        fn undo(&mut self, world: &mut World) -> Result<()> {
            self.add(world, -self.by);
            Ok(())
        }
    }

    impl Tool for Hammer {}
    impl Tool for Saw {}
    impl Component for Transform {}
    impl Component for Bag {}
    impl Component for Belt {}

    impl Command for Rename {
        fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
            assert!(self.why.is_empty());
            self.times += 1;
            edit.rename(self.object, &self.name).map(drop)
        }

        fn undo(&mut self, _: &mut World) -> Result<()> {
            Ok(())
        }
    }

    pub(crate) fn saves(disk: &Disk) -> Result<Saves> {
        let saves = super::super::driver::saves_on(disk);
        saves.register_component::<Belt>()?;
        saves.register_as::<Saw, dyn Tool>()?;
        saves.register_as::<Hammer, dyn Tool>()?;
        saves.register_resource::<Points>()?;
        saves.register_component::<Bag>()?;
        saves.register_component::<Transform>()?;
        Ok(saves)
    }

    pub(crate) fn session(disk: &Disk) -> Result<(Session<World>, persist::history::Recovered)> {
        let mut history = History::new(None);
        history.set_merge_window(Some(std::time::Duration::MAX));
        let options = Session::with(saves(disk)?, history).flush(Flush::OnIdle);
        let options = options.register_command::<Raise>()?.register_command::<Rename>()?;
        options.open(SAVE, JOURNAL)
    }
}
