//! A player who goes back one release in a session, and comes forward again.

use std::time::Duration;

use persist::history::Recovered;
use persist::{
    Component, ErrorKind, History, Persist, Result, SaveOptions, Saves, Session, Unknown, World,
};

use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

mod old {
    use super::*;

    #[derive(Persist, Default, Clone, Debug)]
    pub(super) struct Hero {
        pub(super) name: String,
        #[persist(default = 1)]
        pub(super) hp: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    #[derive(Persist, Default, Clone)]
    pub(super) struct Purse {
        pub(super) money: u64,
    }
}

mod new {
    use super::*;

    #[derive(Persist, Default, Clone, Debug)]
    pub(super) struct Hero {
        pub(super) name: String,
        #[persist(alias = "hp")]
        pub(super) health: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    #[derive(Persist, Default, Clone)]
    #[persist(version = 2, since = 2)]
    pub(super) struct Purse {
        #[persist(convert(1 = to_gold))]
        pub(super) money: u32,
    }

    fn to_gold(cents: u64) -> u32 {
        u32::try_from(cents / 100).unwrap_or(u32::MAX)
    }
}

impl Component for old::Hero {}
impl Component for old::Purse {}
impl Component for new::Hero {}
impl Component for new::Purse {}

fn open<H: Component, P: Component>(disk: &Disk) -> Result<(Session<World>, Recovered)> {
    let saves = Saves::new().storage(disk.clone());
    let saves = saves.save_options(SaveOptions::new().wait(Duration::ZERO));
    saves.register_component::<H>()?;
    saves.register_component::<P>()?;
    Session::with(saves, History::new(None)).open(SAVE, JOURNAL)
}

fn open_new(disk: &Disk) -> Result<(Session<World>, Recovered)> {
    open::<new::Hero, new::Purse>(disk)
}

fn open_old(disk: &Disk) -> Result<(Session<World>, Recovered)> {
    open::<old::Hero, old::Purse>(disk)
}

#[test]
fn a_made_up_default_does_not_replace_the_kept_value() -> Result<()> {
    for choice in [None, Some(50)] {
        let disk = Disk::default();
        let (mut session, _) = open_new(&disk)?;
        let ada = session.edit("Add", |edit| {
            let ada = edit.spawn("Ada")?;
            edit.attach(ada, new::Hero { health: 77, ..Default::default() })?;
            Ok(ada)
        })?;
        session.save()?;
        drop(session);

        let (mut session, recovered) = open_old(&disk)?;
        assert!(recovered.stopped.is_none(), "{recovered}");
        session.edit("Name", |edit| edit.set(ada, "Hero:name", "Ada").map(drop))?;
        if let Some(hp) = choice {
            session.edit("Hit", |edit| edit.set(ada, "Hero:hp", hp).map(drop))?;
        }
        session.save()?;
        drop(session);

        // The undo stacks of the older program hold steps of an object with unknown data, which no other program replays.
        let (session, _) = open_new(&disk)?;
        let hero = session.world().get::<new::Hero>(ada).unwrap();
        assert_eq!((&*hero.name, hero.health), ("Ada", choice.unwrap_or(77)));
        assert!(hero.rest.is_empty());
    }
    Ok(())
}

#[test]
fn a_session_refuses_a_class_that_says_so() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open_new(&disk)?;
    let ada = session.edit("Add", |edit| edit.spawn("Ada"))?;
    session.save()?;
    session.edit("Give", |edit| edit.attach(ada, new::Purse { money: 250 }))?;
    session.edit("Spend", |edit| edit.set(ada, "Purse:money", 240).map(drop))?;
    drop(session);

    // In the journal: the replay stops there and names the class, and the journal is kept.
    let (session, recovered) = open_old(&disk)?;
    let stopped = &recovered.stopped.as_ref().unwrap().cause;
    assert!(stopped.contains("only programs with version 2 or later may read it"), "{stopped}");
    assert!(session.world().get::<old::Purse>(ada).is_none());
    assert_eq!(recovered.kept.len(), 1, "{recovered}");
    drop(session);

    // In the save: the session does not open.
    let disk = Disk::default();
    let (mut session, _) = open_new(&disk)?;
    session.edit("Give", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, new::Purse { money: 250 })
    })?;
    session.save()?;
    drop(session);
    let error = open_old(&disk).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::NewerFormat, Some("Purse")), "{error}");
    let (session, _) = open_new(&disk)?;
    let ada = session.world().find("Ada").unwrap();
    assert_eq!(session.world().get::<new::Purse>(ada).unwrap().money, 250);
    Ok(())
}
