//! Fields that come, go and change their names.

use persist::{Persist, Unknown};

use super::harness::changes;

changes! {
    class added_without "added": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { pub hp: u8, pub mp: u16 })
        { "": Hero { hp: 7 } => Hero { hp: 7, mp: 300 }; }
    class added_with "added, with `default`": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { pub hp: u8, #[persist(default = 9)] pub mp: u16 })
        { "": Hero { hp: 7 } => Hero { hp: 7, mp: 9 }; }
    class added_option "an `Option` added": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { pub hp: u8, pub mp: Option<u16> })
        { "": Hero { hp: 7 } => Hero { hp: 7, mp: None }; }
    class removed "removed": (Hero pub struct Hero { pub hp: u8, pub mp: u16 })
        => (Hero pub struct Hero { pub hp: u8 })
        { "": Hero { hp: 7, mp: 300 } => Hero { hp: 7 }; }
    class removed_unknown "removed, with a field `unknown`": (Hero pub struct Hero { pub hp: u8, pub mp: u16 })
        => (Hero pub struct Hero { pub hp: u8, #[persist(unknown)] pub rest: Unknown })
        { "": Hero { hp: 7, mp: 300 } => persist::from_slice(&persist::to_vec(&super::removed_unknown::before::Hero { hp: 7, mp: 300 }).unwrap()).unwrap(); }
    class removed_for_good "removed, with `removed`": (Hero pub struct Hero { pub hp: u8, pub mp: u16 })
        => (Hero #[persist(removed = "mp")] pub struct Hero { pub hp: u8 })
        { "": Hero { hp: 7, mp: 300 } => Hero { hp: 7 }; }
    class removed_option "an `Option` removed": (Hero pub struct Hero { pub hp: u8, pub mp: Option<u16> })
        => (Hero pub struct Hero { pub hp: u8 })
        { "": Hero { hp: 7, mp: Some(300) } => Hero { hp: 7 } => Hero { hp: 7, mp: None }; }
    class renamed "renamed": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { pub health: u8 })
        { "": Hero { hp: 7 } => Hero { health: 7 }; }
    class renamed_default "renamed, with `default`": (Hero pub struct Hero { #[persist(default = 1)] pub hp: u8 })
        => (Hero pub struct Hero { #[persist(default = 1)] pub health: u8 })
        { "": Hero { hp: 7 } => Hero { health: 1 } => Hero { hp: 1 }; }
    class renamed_alias "renamed, with `alias`": (Hero pub struct Hero { pub hp: u8 })
        => (Hero pub struct Hero { #[persist(alias = "hp")] pub health: u8 })
        { "": Hero { hp: 7 } => Hero { health: 7 }; }
    class renamed_id "renamed, with `id` from the start": (Hero pub struct Hero { #[persist(id = 3)] pub hp: u8 })
        => (Hero pub struct Hero { #[persist(id = 3)] pub health: u8 })
        { "": Hero { hp: 7 } => Hero { health: 7 }; }
    class reordered "reordered": (Hero pub struct Hero { pub hp: u8, pub mp: u8 })
        => (Hero pub struct Hero { pub mp: u8, pub hp: u8 })
        { "": Hero { hp: 7, mp: 8 } => Hero { mp: 8, hp: 7 }; }
    class reordered_tuple "reordered in a tuple struct": (Hero pub struct Hero(pub u8, pub u16);)
        => (Hero pub struct Hero(pub u16, pub u8);)
        { "the numbers fit": Hero(7, 8) => Hero(7, 8); "a number does not": Hero(7, 300); }
    class styled "`rename_all` added": (Hero pub struct Hero { pub max_hp: u8 })
        => (Hero #[persist(rename_all = "camelCase")] pub struct Hero { pub max_hp: u8 })
        { "": Hero { max_hp: 7 } => Hero { max_hp: 7 }; }
    class skipped "`skip` added": (Hero pub struct Hero { pub hp: u8, pub mp: u8 })
        => (Hero pub struct Hero { pub hp: u8, #[persist(skip)] pub mp: u8 })
        { "": Hero { hp: 7, mp: 8 } => Hero { hp: 7, mp: 0 }; }
    class compacted "`compact` added": (Hero pub struct Hero { pub hp: u16 })
        => (Hero pub struct Hero { #[persist(compact)] pub hp: u16 })
        { "": Hero { hp: 700 } => Hero { hp: 700 }; }
}
