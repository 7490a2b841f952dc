//! Tests of stores that need no server, and of stores that are refused.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use persist::save::SlotInfo;
use persist::{ErrorKind, Saves};
use persist_cloud::{Cloud, CloudOptions, CloudSlots};

use crate::block_on;
use crate::slot_store::{self, Store, read, save};

pub(crate) fn slots_on(store: impl ObjectStore, options: CloudOptions) -> CloudSlots {
    Cloud::object_store(Arc::new(store), "game", options).unwrap().player("player 7").unwrap()
}

#[test]
fn a_store_in_memory_meets_the_contract_of_slot_stores() {
    for backups in [0, 1, 5] {
        let options = CloudOptions::new().backups(backups);
        slot_store::check(&|| Arc::new(slots_on(InMemory::new(), options)));
        let store: Store = Arc::new(slots_on(InMemory::new(), options));
        slot_store::no_writer_overwrites_another(&store, 8, 20);
    }
    let store = slots_on(InMemory::new(), CloudOptions::new());
    slot_store::a_large_save_comes_back_byte_for_byte(&store, 9 << 20);
}

#[test]
fn players_have_slots_of_their_own() {
    let cloud = Cloud::object_store(Arc::new(InMemory::new()), "game", CloudOptions::new());
    let cloud = cloud.unwrap();
    let [ada, bob] = ["Ada", "Bob"].map(|player| cloud.player(player).unwrap());
    ada.put_if("slot", None, save(1)).wait().unwrap();
    assert!(bob.list().wait().unwrap().is_empty());
    bob.put_if("slot", None, save(2)).wait().unwrap();
    assert_eq!(read(&ada, "slot").unwrap().0, 1);
    for id in ["", "a/b", ".."] {
        assert_eq!(cloud.player(id).unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}

/// A slot has one pointer, one save, and its backups.
#[test]
fn only_the_newest_backups_are_retained() {
    for backups in [0, 1, 3] {
        let store = Arc::new(InMemory::new());
        let options = CloudOptions::new().backups(backups);
        let cloud =
            Cloud::object_store(Arc::clone(&store) as Arc<dyn ObjectStore>, "game", options);
        let slots = cloud.unwrap().player("7").unwrap();
        let mut versions = Vec::new();
        for number in 0..6 {
            let put = slots.put_if("Ada", versions.last(), save(number)).wait();
            versions.push(put.unwrap());
        }
        let current = versions.pop().unwrap();
        let retained = versions.into_iter().rev().take(backups as usize).collect::<Vec<_>>();
        assert_eq!(slots.backups("Ada").wait().unwrap(), retained);
        for (version, number) in retained.iter().zip((0..5).rev()) {
            let backup = slots.get_backup("Ada", version).wait().unwrap();
            assert_eq!(backup, Some(save(number)));
        }
        assert_eq!(slots.get_backup("Ada", &current).wait().unwrap(), Some(save(5)));
        let objects = || futures_util::StreamExt::count(store.list(None));
        assert_eq!(block_on(objects()), 1 + 1 + backups as usize);
        slots.delete("Ada", &current).wait().unwrap();
        assert_eq!(block_on(objects()), 1, "the pointer says that it was deleted");
    }
}

#[test]
fn a_large_thumbnail_is_listed() {
    let picture = vec![7_u8; 900_000];
    let slots = Saves::new().store(Arc::new(slots_on(InMemory::new(), CloudOptions::new())));
    slots.slot("Ada").info(SlotInfo::new("The Mill").thumbnail(&*picture)).save(&1_u32).unwrap();
    assert_eq!(slots.list().unwrap()[0].info.thumbnail, picture);
}

#[test]
fn a_save_that_was_changed_in_the_store_is_damaged_and_its_backup_is_not() {
    let store = Arc::new(InMemory::new());
    let options = CloudOptions::new().attempts(2);
    let cloud = Cloud::object_store(Arc::clone(&store) as Arc<dyn ObjectStore>, "game", options);
    let slots = cloud.unwrap().player("7").unwrap();
    let first = slots.put_if("Ada", None, save(1)).wait().unwrap();
    let second = slots.put_if("Ada", Some(&first), save(2)).wait().unwrap();
    for bytes in [save(3), save(2)[..9].to_vec(), Vec::new()] {
        for path in objects_of(&store, &second) {
            block_on(store.put_opts(&path, bytes.clone().into(), Default::default())).unwrap();
        }
        let error = slots.get("Ada").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert_eq!(slots.get_backup("Ada", &first).wait().unwrap(), Some(save(1)));
    }
    // The next save replaces the damaged one.
    slots.put_if("Ada", Some(&second), save(4)).wait().unwrap();
    assert_eq!(read(&slots, "Ada").unwrap().0, 4);
}

/// Returns the objects whose bytes are the save of a version, or shorter than 10 bytes, as damaged ones are.
fn objects_of(
    store: &InMemory,
    version: &persist::storage::SlotVersion,
) -> Vec<object_store::path::Path> {
    use futures_util::TryStreamExt;
    use object_store::ObjectStoreExt;
    let paths: Vec<_> =
        block_on(store.list(None).map_ok(|meta| meta.location).try_collect()).unwrap();
    let has_bytes = |path: &object_store::path::Path| {
        let bytes = block_on(async { store.get(path).await.unwrap().bytes().await }).unwrap();
        persist::storage::SlotVersion::from_save(&bytes) == *version
            || !path.as_ref().contains("slots") && bytes.len() < 10
    };
    paths.into_iter().filter(has_bytes).collect()
}
