//! Names of slots are names that a file can have everywhere.

use persist::{ErrorKind, SaveManager, Saves};

use crate::slots::Game;

#[test]
fn names_that_players_choose_are_fine() {
    for name in [
        "a",
        "Ada's farm",
        "Größe 2",
        "東京",
        "v1.2",
        "console",
        "com",
        "com10",
        "lpt",
        "aux2",
        "x.con",
    ] {
        let path =
            Saves::new().slots("saves").slot(name).path().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(path.file_name().unwrap().to_str(), Some(&*format!("{name}.sav")));
    }
}

#[test]
fn names_that_some_system_cannot_have_are_refused() {
    let long = "x".repeat(101);
    for name in [
        "",
        ".",
        "..",
        ".hidden",
        "../up",
        "a/b",
        "a\\b",
        "c:",
        "a*",
        "what?",
        "\"",
        "<",
        ">",
        "|",
        "a\0b",
        "a\nb",
        "\u{7f}",
        " a",
        "a ",
        "a.",
        "\u{a0}a",
        "con",
        "CON",
        "Nul.txt",
        "com1",
        "LPT9",
        "com\u{b2}",
        "conin$",
        "aux .x",
        &long,
    ] {
        let error = Saves::new().slots("saves").slot(name).path().expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert!(error.message().contains("cannot be the name of a slot"), "{error}");
        assert!(error.message().len() < 300, "{error}");
    }
}

#[test]
fn no_operation_takes_a_name_that_is_refused() {
    let game = Game::new();
    game.save("ada", 1);
    let before = game.files();
    for error in [
        game.slots.slot("../x").save(&game.manager).unwrap_err(),
        game.slots.slot("../x").load::<SaveManager>().map(drop).unwrap_err(),
        game.slots.copy("ada", "../x").unwrap_err(),
        game.slots.rename("ada", "../x").unwrap_err(),
        game.slots.rename("../x", "ada").unwrap_err(),
        game.slots.slot("../x").delete().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
    }
    assert_eq!(game.files(), before);
}

#[test]
#[cfg(feature = "directories")]
fn the_folder_of_the_system_is_the_users() {
    let folder = persist::save::slots_folder("com", "Acorn", "Farm").unwrap();
    assert!(folder.is_absolute() && folder.ends_with("saves"), "{}", folder.display());
    assert!(folder.to_string_lossy().to_lowercase().contains("farm"));
}
