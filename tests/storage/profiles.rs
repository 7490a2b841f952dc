//! Kills, errors and power cuts on disks as they are: each with its own order of names, flushes, links and locks.

use std::io::ErrorKind as Io;

use persist::save::SaveOutcome;
use persist::{ErrorKind, Persist};

use super::power_cuts::selections;
use super::single_faults::{at_every_operation, old_or_new};
use super::{SAVE, assert_no_strays, game, load, save, saved, saves};
use persist_tests::support::disk::{Cut, Disk, Fault, Image, Profile};

fn each_disk(mut run: impl FnMut(Profile, u32)) {
    for profile in Profile::ALL {
        for backups in [0, 1, 3] {
            run(profile, backups);
        }
    }
}

/// The states in which a power cut may leave a disk, or many of them.
fn each_image(cut: &Cut, profile: Profile, mut check: impl FnMut(Disk, &str)) {
    // In any order there are many sets of names, so fewer sets of sectors are tried with each.
    let all = selections(cut.pieces());
    let step = if profile.keeps_order() { 1 } else { all.len().div_ceil(16) };
    for selection in all.into_iter().step_by(step) {
        let images = cut.images_of_profile(|sector| selection >> (sector % 64) & 1 == 1);
        for (names, image) in images.into_iter().enumerate() {
            let after = &cut.after;
            let what = format!("{profile:?}, after {after}, sectors {selection:b}, names {names}");
            check(Disk::like(profile, image), &what);
        }
    }
}

/// Without locks, a load cannot know whether another machine is in the middle of a save, so it repairs nothing. It finds
/// a whole save, or says which backup there is; the next save removes what the one before has left.
fn whole_or_named(disk: &Disk, what: &str) {
    match load(disk) {
        Ok(level) => assert!(level == 1 || level == 2, "{what}: level {level}"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{what}: {error}");
            assert!(error.message().contains("it has a backup"), "{what}: {error}");
        }
    }
    save(disk, 1, 3).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(load(disk).unwrap(), 3, "{what}");
    assert_no_strays(disk, what);
}

#[test]
fn an_error_at_any_operation_leaves_the_old_save_on_every_disk() {
    each_disk(|profile, backups| {
        let disk = |image| Disk::like(profile, image);
        for kind in [Io::Other, Io::StorageFull, Io::PermissionDenied] {
            at_every_operation(backups, disk, Fault::Once(kind), |disk, result, what| {
                let what = format!("{profile:?}, {what}");
                match profile {
                    Profile::Network => whole_or_named(disk, &what),
                    _ => old_or_new(disk, result, &what),
                }
            });
        }
    });
}

#[test]
fn a_kill_at_any_operation_leaves_the_old_save_or_the_new_one_on_every_disk() {
    each_disk(|profile, backups| {
        let disk = |image| Disk::like(profile, image);
        at_every_operation(backups, disk, Fault::Ever(Io::Other), |disk, result, what| {
            if profile == Profile::Network {
                return whole_or_named(disk, what);
            }
            let level = load(disk).unwrap_or_else(|error| panic!("{profile:?}, {what}: {error}"));
            assert!(level == 2 || level == 1 && result.is_err(), "{profile:?}, {what}: {level}");
            assert_no_strays(disk, what);
            save(disk, 1, 3).unwrap();
            assert_eq!(load(disk).unwrap(), 3, "{profile:?}, {what}");
        });
    });
}

#[test]
fn a_power_cut_leaves_the_old_save_or_the_new_one_on_every_disk() {
    each_disk(|profile, backups| {
        // Without a backup, a rename over the save is all that there is, and this one is two steps on the disk.
        if profile == Profile::Fat && backups == 0 {
            return;
        }
        let disk = Disk::like(profile, saved([8, 9, 1], backups));
        disk.note_cuts();
        save(&disk, backups, 2).unwrap();
        let cuts = disk.cuts();
        let mut found = [0; 3];
        for cut in &cuts {
            each_image(cut, profile, |disk, what| {
                if profile == Profile::Network {
                    return whole_or_named(&disk, what);
                }
                let level = load(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(level == 1 || level == 2, "{what}: level {level}");
                found[level as usize] += 1;
                save(&disk, backups, 3).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(load(&disk).unwrap(), 3, "{what}");
            });
        }
        if profile == Profile::Network {
            return;
        }
        assert!(found[1] > 0 && found[2] > 0, "{profile:?}: {found:?}");
        // Where folders can be flushed, a save that has returned is there. Elsewhere it may be the one before.
        let mut levels = [0; 3];
        each_image(cuts.last().unwrap(), profile, |disk, _| {
            levels[load(&disk).unwrap() as usize] += 1;
        });
        assert_eq!(levels[1] == 0, profile.flushes_folders(), "{profile:?}: {levels:?}");
    });
}

/// A session acknowledges an edit, and the power fails.
#[test]
fn a_power_cut_leaves_a_journal_with_its_save_on_every_disk() {
    use persist::Session;
    use persist::history::{Flush, History, SessionOptions};

    #[derive(Persist, Default)]
    struct Text(Vec<u32>);

    impl persist::Command<Text> for Push {
        fn apply(
            &mut self,
            edit: &mut persist::history::CommandEdit<'_, Text>,
        ) -> persist::Result<()> {
            edit.target().0.push(self.0);
            Ok(())
        }

        fn undo(&mut self, text: &mut Text) -> persist::Result<()> {
            text.0.pop();
            Ok(())
        }
    }

    #[derive(Persist)]
    struct Push(u32);

    let options = |disk: &Disk| -> SessionOptions<Text> {
        let options = Session::with(saves(disk, 1), History::new(None)).flush(Flush::EveryEdit);
        options.register_command::<Push>().unwrap()
    };
    for profile in Profile::ALL {
        let disk = Disk::like(profile, Image::new());
        drop(options(&disk).open(SAVE, "game.journal").unwrap());
        disk.note_cuts();
        let (mut session, _) = options(&disk).open(SAVE, "game.journal").unwrap();
        for number in 1..=3 {
            session.apply(Push(number)).unwrap();
        }
        session.save().unwrap();
        session.apply(Push(4)).unwrap();
        drop(session);
        let cuts = disk.cuts();
        for cut in &cuts {
            for image in cut.images_of_profile(|_| true) {
                let disk = Disk::like(profile, image);
                let what = format!("{profile:?}, after {}", cut.after);
                let (session, _) = options(&disk)
                    .open(SAVE, "game.journal")
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                let text = &session.target().0;
                assert!(text.iter().copied().eq((1..).take(text.len())), "{what}: {text:?}");
            }
        }
        // Each edit was flushed before it returned, and its file has a name for as long as the disk keeps names.
        for image in cuts.last().unwrap().images_of_profile(|_| true) {
            let disk = Disk::like(profile, image);
            let (session, _) = options(&disk).open(SAVE, "game.journal").unwrap();
            if profile.flushes_folders() || profile == Profile::Ntfs {
                assert_eq!(session.target().0, [1, 2, 3, 4], "{profile:?}");
            }
        }
    }
}

/// Two machines save on a network drive by turns. There are no locks, and each sees the other's save at the second look.
#[test]
fn stale_reads_of_a_network_drive_give_whole_saves() {
    let disk = Disk::like(Profile::Network, saved([1], 1));
    for level in (2..40).step_by(2) {
        let other = persist::to_vec(&game(level)).unwrap();
        disk.put(SAVE, &other);
        let seen = load(&disk).unwrap();
        assert!(seen == level || seen == level - 1, "{seen} instead of {level}");
        match saves(&disk, 1).file(SAVE).save(&game(level + 1)) {
            Ok(outcome) => assert_eq!(outcome, SaveOutcome::SavedUnlocked),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InUse, "{error}"),
        }
        save(&disk, 1, level + 1).unwrap();
        assert_eq!(load(&disk).unwrap(), level + 1);
    }
}
