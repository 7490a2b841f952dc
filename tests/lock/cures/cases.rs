//! The messages of the lock that have a cure, and the cures that each of them names.

/// A change that the lock does not accept, by its name in `programs.rs`: the locked versions are `before` and
/// `between`, the program is `after`.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) cures: &'static [Cure],
    /// True if the lock accepts the program, and only gives advice.
    pub(super) is_safe: bool,
}

/// What satisfies the lock.
pub(super) enum Cure {
    /// The lines below all differences.
    Printed,
    /// Attributes that a sentence names, each with what it is put on.
    Named(&'static str, &'static [(&'static str, &'static str)]),
    /// What a sentence says without a line to paste: the module has it.
    ByHand(&'static str, &'static str),
}

use Cure::{ByHand, Named, Printed};

const fn case(name: &'static str, cures: &'static [Cure]) -> Case {
    Case { name, cures, is_safe: false }
}

const fn advice(name: &'static str, cures: &'static [Cure]) -> Case {
    Case { name, cures, is_safe: true }
}

pub(super) const CASES: &[Case] = &[
    case("renamed", &[Printed]),
    case(
        "renamed_default",
        &[
            Printed,
            Named(
                "or say that hp is not needed any more, by `#[persist(removed = \"hp\")]` on struct Hero",
                &[("#[persist(removed = \"hp\")]", "struct Hero")],
            ),
            ByHand(
                "or keep the old values as unknown, by a `version` and a `migrate` that looks at the field and leaves it, `let _ = record.get(\"hp\");`",
                "kept",
            ),
        ],
    ),
    case(
        "renamed_kind",
        &[
            Printed,
            Named(
                "if it is what hp was, give it `#[persist(alias = \"hp\", convert = from_hp)]`",
                &[("#[persist(alias = \"hp\", convert = from_hp)]", "health: Vec<u8>")],
            ),
        ],
    ),
    case("renamed_needed_kind", &[Printed]),
    case(
        "asked",
        &[
            Named(
                "else a default, and `#[persist(removed = \"left\")]` on struct Hero",
                &[
                    ("#[persist(default)]", "until: u64"),
                    ("#[persist(removed = \"left\")]", "struct Hero"),
                ],
            ),
            Named(
                "if it is what left was, give it `#[persist(alias = \"left\")]`",
                &[("#[persist(alias = \"left\")]", "until: u64")],
            ),
        ],
    ),
    case(
        "asked_kind",
        &[
            Named(
                "else a default, and `#[persist(removed = \"left\")]` on struct Hero",
                &[
                    ("#[persist(default)]", "until: f32"),
                    ("#[persist(removed = \"left\")]", "struct Hero"),
                ],
            ),
            Named(
                "if it is what left was, give it `#[persist(alias = \"left\", convert = from_left)]`",
                &[("#[persist(alias = \"left\", convert = from_left)]", "until: f32")],
            ),
        ],
    ),
    case(
        "asked_of_two",
        &[
            Named(
                "else a default, and `#[persist(removed = \"left\", removed = \"right\")]` on struct Hero",
                &[
                    ("#[persist(default)]", "until: u32"),
                    ("#[persist(removed = \"left\", removed = \"right\")]", "struct Hero"),
                ],
            ),
            Named(
                "if it is what left was, give it `#[persist(alias = \"left\")]`",
                &[("#[persist(alias = \"left\")]", "until: u32")],
            ),
            Named(
                "if it is what right was, give it `#[persist(alias = \"right\")]`",
                &[("#[persist(alias = \"right\")]", "until: u32")],
            ),
        ],
    ),
    case(
        "asked_default",
        &[
            Printed,
            Named(
                "if it is what left was, give it `#[persist(alias = \"left\")]`",
                &[("#[persist(alias = \"left\")]", "until: u64")],
            ),
            ByHand(
                "or keep the old values as unknown, by a `version` and a `migrate` that looks at the field and leaves it, `let _ = record.get(\"left\");`",
                "kept",
            ),
        ],
    ),
    case(
        "asked_default_kind",
        &[
            Printed,
            Named(
                "if it is what left was, give it `#[persist(alias = \"left\", convert = from_left)]`",
                &[("#[persist(alias = \"left\", convert = from_left)]", "until: f32")],
            ),
        ],
    ),
    case("added", &[Printed]),
    case(
        "held",
        &[
            Printed,
            Named(
                "keep them in a field for what is unknown, or say that colour is not needed any more, by `#[persist(removed = \"colour\")]` on struct Bag",
                &[("#[persist(removed = \"colour\")]", "struct Bag")],
            ),
        ],
    ),
    case(
        "held_tuple",
        &[
            Printed,
            Named(
                "by `#[persist(removed = \"1\")]` on struct Bag",
                &[("#[persist(removed = \"1\")]", "struct Bag")],
            ),
        ],
    ),
    case(
        "held_default",
        &[
            Printed,
            Named(
                "by `#[persist(removed = \"colour\")]` on struct Bag",
                &[("#[persist(removed = \"colour\")]", "struct Bag")],
            ),
            ByHand(
                "or keep the old values as unknown in a field `#[persist(unknown)]`, by a `version` and a `migrate` that looks at the field and leaves it, `let _ = record.get(\"colour\");`",
                "kept",
            ),
        ],
    ),
    case(
        "held_variant",
        &[
            Printed,
            Named(
                "by `#[persist(removed = \"at\")]` on variant Angry",
                &[
                    ("#[persist(removed = \"at\")]", "Angry"),
                    ("#[persist(removed = \"1\")]", "Sad"),
                ],
            ),
        ],
    ),
    case(
        "variant_field",
        &[
            Printed,
            Named(
                "by `#[persist(removed = \"hp\")]` on variant Angry",
                &[("#[persist(removed = \"hp\")]", "Angry")],
            ),
            ByHand(
                "or keep the old values as unknown in a field `#[persist(unknown)]`, by a `version` and a `migrate` that looks at the field and leaves it, `let _ = record.get(\"hp\");`",
                "kept",
            ),
        ],
    ),
    case("variant_field_added", &[Printed]),
    case(
        "reused",
        &[
            Named(
                "give the new field another name in the save, and `#[persist(removed = \"hp\")]` to its type",
                &[
                    ("#[persist(rename = \"new_hp\")]", "hp: u64"),
                    ("#[persist(removed = \"hp\")]", "struct Hero"),
                ],
            ),
            Named(
                "or `#[persist(alias = \"hp\")]` to the field, if it is the same again",
                &[
                    ("#[persist(rename = \"new_hp\")]", "hp: u64"),
                    ("#[persist(alias = \"hp\")]", "hp: u64"),
                ],
            ),
        ],
    ),
    case(
        "removed_back",
        &[
            Named(
                "give the new field another name in the save, and `#[persist(removed = \"hp\")]` to its type",
                &[
                    ("#[persist(rename = \"new_hp\")]", "hp: u32"),
                    ("#[persist(removed = \"hp\")]", "struct Hero"),
                ],
            ),
            Named(
                "or `#[persist(alias = \"hp\")]` to the field, if it is the same again",
                &[
                    ("#[persist(rename = \"new_hp\")]", "hp: u32"),
                    ("#[persist(alias = \"hp\")]", "hp: u32"),
                ],
            ),
        ],
    ),
    case(
        "variant_removed_back",
        &[
            Named(
                "give the new one another name in the save, and `#[persist(removed = \"Angry\")]` to enum Mood",
                &[
                    ("#[persist(rename = \"new_Angry\")]", "Angry"),
                    ("#[persist(removed = \"Angry\")]", "enum Mood"),
                ],
            ),
            Named(
                "or the new one the `alias`, if it is the same again",
                &[
                    ("#[persist(rename = \"new_Angry\")]", "Angry"),
                    ("#[persist(alias = \"Angry\")]", "Angry"),
                ],
            ),
        ],
    ),
    case("convert_dropped", &[Printed, ByHand("give the field that `convert` again", "converted")]),
    case("migrate_dropped", &[Printed]),
    case(
        "module_dropped",
        &[
            Printed,
            ByHand(
                "give the class a `version` and the field a `convert(1 = function)`",
                "converted",
            ),
        ],
    ),
    advice(
        "module_added",
        &[ByHand("give the class a `version` and a `migrate` that sets the field", "migrated")],
    ),
    case(
        "module_other",
        &[Printed, ByHand("give the class a `version` and a `migrate` that sets it", "migrated")],
    ),
    case(
        "type_other",
        &[Printed, ByHand("give the class a `version` and a `migrate` that sets it", "migrated")],
    ),
    case("newtype_went", &[Printed]),
    case("newtype_converted", &[Printed]),
    case("newtype_went_beside_migrate", &[ByHand("let touch look at it", "looked")]),
    case(
        "own_kind_again",
        &[
            Printed,
            ByHand(
                "give the class a `version` and the field a `convert(1 = function)`",
                "converted",
            ),
        ],
    ),
    case(
        "inner_read",
        &[
            ByHand(
                "ask that record for its `version()` and treat each version as what it is",
                "asked",
            ),
            ByHand("or move the record whole", "moved"),
        ],
    ),
    case(
        "inner_read_convert",
        &[ByHand(
            "give Purse `version = 2` and the `convert` its last version, `convert(1 = function)`, and ask the record for its `version()`",
            "asked",
        )],
    ),
    case(
        "dropped_read",
        &[ByHand(
            "ask each record for its `version()`, and treat each version as what it is",
            "asked",
        )],
    ),
    case("made_by_migrate", &[Printed, ByHand("give the field that `convert` again", "converted")]),
    case("enum_became_text", &[Printed, ByHand("give the field a `convert`", "converted")]),
    case("step_dropped", &[Printed]),
    case(
        "step_again",
        &[Printed, ByHand("or give it another name if they are to change once more", "named")],
    ),
    case(
        "reused_id",
        &[
            Named(
                "give the new field another number in the save, and `#[persist(removed = \"hp\")]` to its type",
                &[
                    ("#[persist(id = 3)]", "mana: u32"),
                    ("#[persist(removed = \"hp\")]", "struct Hero"),
                ],
            ),
            Named(
                "or `#[persist(alias = \"hp\")]` to the field, if it is the same again",
                &[("#[persist(id = 3)]", "mana: u32"), ("#[persist(alias = \"hp\")]", "mana: u32")],
            ),
        ],
    ),
    case(
        "moved_in",
        &[
            Printed,
            Named(
                "or say that the old values are not needed any more, by `#[persist(removed = \"shops\")]` on struct Map",
                &[
                    ("#[persist(removed = \"shops\")]", "struct Map"),
                    ("#[persist(removed = \"inns\")]", "struct Map"),
                ],
            ),
        ],
    ),
    case(
        "moved_out",
        &[
            Printed,
            Named(
                "by `#[persist(removed = \"gold\")]` on struct Purse",
                &[("#[persist(removed = \"gold\")]", "struct Purse")],
            ),
        ],
    ),
    case(
        "moved_again",
        &[
            ByHand(
                "move them in one more step of `migrate`: give struct Map `version = 3`, and add `2 = to_3` to its `migrate(..)`",
                "one_more",
            ),
            Named(
                "by `#[persist(removed = \"inns\")]` on struct Map",
                &[("#[persist(removed = \"inns\")]", "struct Map")],
            ),
        ],
    ),
    case(
        "moved_apart",
        &[
            Printed,
            Named(
                "by `#[persist(removed = \"gold\")]` on struct Hero",
                &[("#[persist(removed = \"gold\")]", "struct Hero")],
            ),
        ],
    ),
    case(
        "moved_class",
        &[Printed, ByHand("keep the class, and move them in an `after_load`", "class_kept")],
    ),
    case(
        "class_renamed",
        &[
            Printed,
            Named(
                "if it is another, say so by `registry.declare_removed_class(\"Cart\")?`",
                &[("registry.declare_removed_class(\"Cart\")?", "")],
            ),
        ],
    ),
    case(
        "class_mostly",
        &[
            Printed,
            Named(
                "if it is another, say so by `registry.declare_removed_class(\"Cart\")?`",
                &[("registry.declare_removed_class(\"Cart\")?", "")],
            ),
        ],
    ),
    case(
        "class_held",
        &[
            Printed,
            ByHand(
                "if it is another, say so by a `convert` of Yard.carts, which holds it",
                "converted",
            ),
        ],
    ),
    case(
        "class_generic",
        &[
            Printed,
            ByHand(
                "if it is another, say so by a `convert` of Yard.cart, which holds it",
                "converted",
            ),
        ],
    ),
    case(
        "class_reused",
        &[
            Named(
                "give the new class another name in the save and Spot the `alias`",
                &[
                    ("#[persist(class = \"new.Place\")]", "struct Place"),
                    ("#[persist(alias = \"Place\")]", "struct Spot"),
                ],
            ),
            Named(
                "or the new one the `alias`, if it is the same again",
                &[
                    ("#[persist(class = \"new.Place\")]", "struct Place"),
                    ("#[persist(alias = \"Place\")]", "struct Place"),
                ],
            ),
        ],
    ),
    case(
        "class_merged",
        &[
            ByHand("keep both", "both_kept"),
            ByHand(
                "or accept it by a `version` and a `migrate` of struct Wagon, which may do nothing",
                "accepted",
            ),
        ],
    ),
    case("version", &[Printed]),
    case("version_removed", &[Printed]),
    case(
        "version_migrate",
        &[ByHand(
            "give struct Hero `version = 3` again, with a step of `migrate` for each version before it",
            "raised_again",
        )],
    ),
    case("variant_renamed", &[Printed]),
    case(
        "variant_renamed_other",
        &[
            Printed,
            Named(
                "or say that Angry is not needed any more, `#[persist(removed = \"Angry\")]` on enum Mood",
                &[("#[persist(removed = \"Angry\")]", "enum Mood")],
            ),
        ],
    ),
    case(
        "variant_removed",
        &[
            ByHand("values of it load only into a variant `#[persist(other)]`", "with_other"),
            ByHand(
                "or give the enum a variant `#[persist(other)] Other(persist::Unknown)`",
                "with_other",
            ),
        ],
    ),
    case(
        "variant_removed_other",
        &[Printed, ByHand("give that one a field, `Other(persist::Unknown)`", "with_unknown")],
    ),
    case(
        "variant_removed_key",
        &[Printed, ByHand("give that one a field, `Other(persist::Unknown)`", "with_unknown")],
    ),
    case(
        "variants_merged",
        &[
            ByHand("keep both", "both_kept"),
            ByHand(
                "or accept it by a `version` and a `migrate` of enum Mood, which may do nothing",
                "accepted",
            ),
        ],
    ),
    case(
        "variant_reused",
        &[
            Named(
                "give the new variant another name in the save and Furious the `alias`",
                &[
                    ("#[persist(rename = \"new_Angry\")]", "Angry"),
                    ("#[persist(alias = \"Angry\")]", "Furious"),
                ],
            ),
            Named(
                "or the new one the `alias`, if it is the same again",
                &[
                    ("#[persist(rename = \"new_Angry\")]", "Angry"),
                    ("#[persist(alias = \"Angry\")]", "Angry"),
                ],
            ),
        ],
    ),
    case(
        "superseded",
        &[
            ByHand("give the class a `version` and a `migrate` that takes both", "taken"),
            ByHand("or remove the alias", "without_alias"),
        ],
    ),
    case(
        "set",
        &[
            ByHand("give the field a `convert` that drops one", "converted"),
            ByHand("or keep the old type", "old_type"),
        ],
    ),
    case(
        "deep",
        &[
            ByHand("keep the old type", "old_type"),
            ByHand("keep the old type, or give the field a `convert`", "converted"),
        ],
    ),
    case(
        "unreached",
        &[ByHand(
            "there is no object of which a sample could show more; give the field a `convert`",
            "converted",
        )],
    ),
    case("narrower", &[ByHand("give the field a `convert`", "converted")]),
    case(
        "other_kind",
        &[ByHand(
            "give the field `#[persist(convert = function)]`, a function from the old type to the new one",
            "converted",
        )],
    ),
    case("shorter", &[ByHand("`#[persist(convert = function)]`", "converted")]),
    advice("zero", &[ByHand("if the old type had a 0, give the field a `convert`", "converted")]),
    advice("newtype", &[ByHand("if it did, give the field a `convert`", "converted")]),
    case("text", &[ByHand("give the field a `convert` that takes every text", "converted")]),
    case(
        "text_other",
        &[ByHand("give the class a `version` and a `migrate` that sets the field", "set")],
    ),
    case(
        "copied",
        &[
            ByHand("keep the pointer", "pointers_kept"),
            ByHand(
                "or accept the copies by a `version` and a `migrate` that looks at the field, `let _ = record.get(..);`",
                "accepted",
            ),
        ],
    ),
    case("trait_unregistered", &[ByHand("keep `register_as::<Sword, dyn Item>()`", "registered")]),
    case(
        "unregistered",
        &[
            ByHand("call `register_as::<Sword, dyn Item>()` on the `Saves`", "registered"),
            ByHand("name a stand-in by `#[persist::dynamic(unknown = Type)]`", "with_stand_in"),
        ],
    ),
    case(
        "unregistered_option",
        &[
            ByHand("keep `register_as` for its trait", "registered"),
            ByHand("name a stand-in by `#[persist::dynamic(unknown = Type)]`", "with_stand_in"),
        ],
    ),
    case("pointer", &[ByHand("keep `register_pointer::<Rc<RefCell<Guild>>>()`", "registered")]),
];
