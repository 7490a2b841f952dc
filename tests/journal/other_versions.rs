//! Documents that are edited by one version of a program, and saved or edited by another one.

use std::time::Duration;

use persist::history::Recovered;
use persist::{ErrorKind, History, Persist, Result, SaveOptions, Saves, Session, World};

use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

fn saves(disk: &Disk) -> Saves {
    Saves::new().storage(disk.clone()).save_options(SaveOptions::new().wait(Duration::ZERO))
}

fn open<T: Persist + Default + persist::history::Editable>(
    disk: &Disk,
) -> Result<(Session<T>, Recovered)> {
    Session::with(saves(disk), History::new(None)).open(SAVE, JOURNAL)
}

mod old {
    #[derive(persist::Persist, Default, Debug)]
    pub(super) struct Hero {
        pub(super) name: String,
        #[persist(default = 1)]
        pub(super) hp: u32,
    }

    #[derive(persist::Persist, Default, Debug)]
    pub(super) struct Purse {
        pub(super) owner: String,
        pub(super) money: u64,
    }
}

mod new {
    #[derive(persist::Persist, Default, Debug)]
    pub(super) struct Hero {
        pub(super) name: String,
        #[persist(alias = "hp")]
        pub(super) health: u32,
    }

    #[derive(persist::Persist, Default, Debug)]
    #[persist(version = 2, since = 2)]
    pub(super) struct Purse {
        pub(super) owner: String,
        #[persist(convert(1 = to_gold))]
        pub(super) money: u32,
    }

    fn to_gold(cents: u64) -> u32 {
        u32::try_from(cents / 100).unwrap_or(u32::MAX)
    }
}

mod newest {
    #[derive(persist::Persist, Default, Debug)]
    #[persist(version = 3, since = 2)]
    pub(super) struct Purse {
        pub(super) owner: String,
        #[persist(convert(1 = to_gold, 2 = to_crowns))]
        pub(super) money: u16,
    }

    fn to_gold(cents: u64) -> u32 {
        u32::try_from(cents / 100).unwrap_or(u32::MAX)
    }

    fn to_crowns(gold: u32) -> u16 {
        u16::try_from(gold / 10).unwrap_or(u16::MAX)
    }
}

#[test]
fn an_older_program_keeps_what_it_does_not_know_of_a_document_and_guesses_nothing() -> Result<()> {
    for choice in [None, Some(50_u32)] {
        let disk = Disk::default();
        saves(&disk).file(SAVE).save(&new::Hero { name: "Ada".into(), health: 77 })?;

        let (mut session, _) = open::<old::Hero>(&disk)?;
        assert_eq!(session.target().hp, 1, "it makes one up");
        session.set_field("Hero:name", "Bob")?;
        session.set_field("Hero:name", "Cid")?;
        session.undo()?;
        if let Some(hp) = choice {
            session.set_field("Hero:hp", hp)?;
        }
        drop(session);
        let (mut session, recovered) = open::<old::Hero>(&disk)?;
        assert!(recovered.stopped.is_none(), "{recovered}");
        session.save()?;
        drop(session);

        let hero = saves(&disk).file(SAVE).load::<new::Hero>()?;
        assert_eq!((&*hero.name, hero.health), ("Bob", choice.unwrap_or(77)));
    }
    Ok(())
}

#[test]
fn an_edit_of_a_document_is_converted_over_three_versions_as_by_way_of_the_second() -> Result<()> {
    let edited = || -> Result<Disk> {
        let disk = Disk::default();
        saves(&disk).file(SAVE).save(&old::Purse { owner: "Ada".into(), money: 5_000 })?;
        let (mut session, _) = open::<old::Purse>(&disk)?;
        session.set_field("Purse:money", 25_000_u64)?;
        Ok(disk)
    };
    let directly = edited()?;
    let by_the_second = edited()?;
    let (mut session, recovered) = open::<new::Purse>(&by_the_second)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert_eq!(session.target().money, 250);
    session.save()?;
    drop(session);
    for disk in [directly, by_the_second] {
        let (mut session, recovered) = open::<newest::Purse>(&disk)?;
        assert!(recovered.stopped.is_none(), "{recovered}");
        assert_eq!(session.target().money, 25);
        session.undo()?;
        assert_eq!(session.target().money, 5);
    }
    Ok(())
}

mod middle {
    #[derive(persist::Persist, Default, Debug)]
    #[persist(component)]
    pub(super) struct Coins {
        pub(super) owner: String,
        pub(super) money: u32,
    }
}

/// Takes cents of the first release, which had 64 bits, and nothing else.
#[derive(Persist, Default, Debug)]
#[persist(component)]
struct Coins {
    owner: String,
    #[persist(convert(to_gold))]
    money: u16,
}

fn to_gold(cents: u64) -> u16 {
    u16::try_from(cents / 100).unwrap_or(u16::MAX)
}

#[test]
fn an_edit_of_a_kind_that_a_convert_does_not_name_is_refused_by_name() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open::<middle::Coins>(&disk)?;
    session.set_field("Coins:money", 250_u32)?;
    drop(session);
    let (session, recovered) = open::<Coins>(&disk)?;
    let stopped = recovered.stopped.as_ref().expect("nobody says what 250 was");
    assert_eq!(stopped.kind, ErrorKind::KindMismatch, "{recovered}");
    assert_eq!(session.target().money, 0);
    assert_eq!(recovered.kept.len(), 1);

    let disk = Disk::default();
    let of_world = |saves: &Saves| {
        Session::<World>::with(saves.clone(), History::new(None)).open(SAVE, JOURNAL)
    };
    let middle = saves(&disk);
    middle.register_component::<middle::Coins>()?;
    let (mut session, _) = of_world(&middle)?;
    let ada = session.edit("Add", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, middle::Coins::default())?;
        edit.set(ada, "Coins:money", 250_u32)?;
        Ok(ada)
    })?;
    drop(session);
    let today = saves(&disk);
    today.register_component::<Coins>()?;
    let (session, recovered) = of_world(&today)?;
    let stopped = recovered.stopped.as_ref().expect("nobody says what 250 was");
    assert_eq!(stopped.kind, ErrorKind::KindMismatch, "{recovered}");
    assert!(!session.world().contains(ada), "the edit is replayed whole or not at all");
    assert_eq!(recovered.kept.len(), 1);
    Ok(())
}

#[test]
fn an_older_program_refuses_a_document_that_says_so() -> Result<()> {
    let disk = Disk::default();
    saves(&disk).file(SAVE).save(&new::Purse { owner: "Ada".into(), money: 250 })?;
    let before = disk.image();
    let error = open::<old::Purse>(&disk).map(drop).expect_err("it cannot read gold");
    assert_eq!((error.kind(), error.class()), (ErrorKind::NewerFormat, Some("Purse")));
    assert!(before.iter().all(|(name, bytes)| disk.image().get(name) == Some(bytes)));
    Ok(())
}

#[test]
fn a_document_that_was_edited_and_undone_has_the_bytes_that_it_had() -> Result<()> {
    let disk = Disk::default();
    let hero = new::Hero { name: "Ada".into(), health: 77 };
    saves(&disk).file(SAVE).save(&hero)?;
    let (mut session, _) = open::<new::Hero>(&disk)?;
    session.edit("Both", |hero| {
        hero.name.push_str(" the Bold");
        hero.health = 9;
        Ok(())
    })?;
    session.undo()?;
    assert_eq!(saves(&disk).to_vec(session.target())?, saves(&disk).to_vec(&hero)?);
    session.redo()?;
    let bold = new::Hero { name: "Ada the Bold".into(), health: 9 };
    assert_eq!(saves(&disk).to_vec(session.target())?, saves(&disk).to_vec(&bold)?);
    Ok(())
}
