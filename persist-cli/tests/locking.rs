//! `lock check`.

use persist::Persist;
use persist::lock::Lock;
use persist::save::Registry;

use crate::support::Folder;

mod version_1 {
    #[derive(persist::Persist)]
    pub(crate) struct Hero {
        pub(crate) name: String,
    }
}

mod version_2 {
    #[derive(persist::Persist)]
    pub(crate) struct Hero {
        pub(crate) name: String,
        pub(crate) level: u32,
    }
}

#[derive(Persist)]
struct Dragon {
    heads: u8,
}

#[test]
fn saves_are_compared_with_the_versions_of_a_lock() -> persist::Result<()> {
    let folder = Folder::with(&["v1/graph.sav"]);
    let mut lock = Lock::new();
    let mut registry = Registry::new();
    registry.register::<version_1::Hero>()?;
    lock.update("0.1.0", &registry)?;
    let mut registry = Registry::new();
    registry.register::<version_2::Hero>()?;
    lock.update("0.2.0", &registry)?;
    lock.save(folder.path("persist.lock"))?;
    std::fs::create_dir(folder.path("slots")).expect("a folder");
    let name = || String::from("Ada");
    folder.write("slots/a.sav", &persist::to_vec(&version_1::Hero { name: name() })?);
    folder.write("slots/b.sav", &persist::to_vec(&version_2::Hero { name: name(), level: 3 })?);
    folder.write("slots/c.sav", &persist::to_vec(&Dragon { heads: 3 })?);
    folder.cut("slots/a.sav", "slots/d.sav", 40);
    folder.write("slots/notes.txt", b"no save");
    insta::assert_snapshot!(folder.transcript([
        "lock check persist.lock slots",
        "lock check persist.lock slots/a.sav graph.sav --json",
        "lock check persist.lock slots/b.sav",
        "lock check graph.sav slots",
    ]));
    Ok(())
}
