use super::{mistakes, snapshot};

/// A snapshot of types, each followed by its mistakes.
pub(super) fn refusals(name: &str, sources: &[&str]) {
    let all: Vec<String> =
        sources.iter().map(|source| format!("{source}\n\n{}", mistakes(source))).collect();
    snapshot(name, &all.join("\n\n"));
}

snapshots! { refusals:
    unions: ["union Bits { a: u32, b: f32 }"];

    packed_types: ["#[repr(C, packed(2))]\nstruct Tight { a: u8, b: u32 }"];

    borrowed_data: ["struct Borrowed<'a, T> {
    name: &'a str,
    bytes: Option<&'a [u8]>,
    hero: &'static Hero,
    both: (u8, &'a T),
    #[persist(skip)] fine: &'static str,
}"];

    types_that_have_no_stored_form: ["struct Raw {
    pointer: *const u8,
    mutable: Vec<*mut u8>,
    function: fn(u8) -> u8,
    object: dyn Any,
    some: impl Clone,
    slice: [u8],
    text: str,
    mark: PhantomData<fn(&u8)>,
}"];

    unknown_attributes: [
        r#"#[persist(clas = "a", flatten, versoin = 3)]
struct Hero {
    #[persist(skp, defualt = 3, zzz)]
    a: u8,
}"#,
        "enum E { #[persist(renam = \"x\", aliases = \"y\")] A }",
    ];

    attributes_in_the_wrong_place: [
        r#"#[persist(skip, with = m, rename = "Hero")]
struct Hero {
    #[persist(version = 3, rename_all = "camelCase")]
    a: u8,
}"#,
        "enum E { #[persist(skip, id = 4)] A }",
    ];

    markers_that_have_no_name: [
        "#[persist(name_markers)] struct Score { points: [u8; 4] }",
        "#[persist(name_markers, bound = \"T: Clone, U: persist::Persist\")] struct Pair<T, U> { points: u8, of: PhantomData<(T, U)> }",
        "#[persist(name_markers, transparent)] struct Metres<T>(f32, #[persist(skip)] PhantomData<T>);",
    ];

    duplicate_attributes: [r#"#[persist(id = 1, id = 2)]
#[persist(class = "a")]
#[persist(class = "b", transparent, transparent)]
struct Hero {
    #[persist(default, rename = "x", default = 3, rename = "y")]
    a: u8,
}"#];

    values_of_the_wrong_sort: [
        r#"#[persist(class = Hero, id = "7", version = -1, alias = 3, bound = "T Foo", rename_all = camel)]
#[persist(before_save = "Hero::tidy", after_load = |x| x, validate, crate = "a", transparent = true, default)]
struct Hero {
    #[persist(skip = true, rename = "", alias, with = <A as B>::C)]
    a: u8,
    #[persist(version)]
    b: u8,
}"#,
        "#[persist(id = 18446744073709551616, version = 4294967296)] struct S;",
    ];

    attributes_that_do_not_parse: [r#"#[persist]
#[persist = "x"]
#[persist("skip", id(7), version = , class = "a" alias = "b")]
struct Hero {
    #[persist(skp, = 3)]
    a: u8,
}"#];

    skip_with_what_only_saved_fields_have: [r#"struct Hero {
    #[persist(skip, rename = "x", alias = "y", with = m)]
    a: u8,
}"#];

    names_that_clash_in_the_save: [
        r#"#[persist(rename_all = "camelCase")]
struct Hero {
    hit_points: u8,
    #[persist(rename = "hitPoints")]
    life: u8,
    #[persist(alias = "life", alias = "hitPoints")]
    mana: u8,
    #[persist(alias = "gold", alias = "money", alias = "money")]
    gold: u8,
    #[persist(skip)]
    hitPoints: u8,
}"#,
        "enum E { A, #[persist(rename = \"A\")] B, #[persist(alias = \"B\")] C, B2 { r#x: u8, #[persist(alias = \"x\")] y: u8 } }",
    ];

    enums_without_an_empty_value: [
        "enum Never {}",
        "enum Deep { A(Box<Deep>), B { inner: Vec<Self> } }",
        "#[persist(empty)]
enum Two {
    #[persist(empty)] A,
    #[persist(empty)] B,
    #[persist(empty = 3)] C,
    #[persist(default)] D,
}",
    ];

    defaults_of_a_type_without_fields_that_could_be_missing: [
        "#[persist(default)] enum Mood { Calm, Angry { since: u32 } }",
        "#[persist(default)] struct Marker;",
        "#[persist(default = Metres(1.0), transparent)] struct Metres(f64, #[persist(skip, default)] bool);",
        "#[persist(default, via = u8)] struct Level { level: u8 }",
        "#[persist(default, default = 3, empty, empty)] struct Hero { #[persist(empty)] name: String }",
    ];

    transparent_types_that_are_more_than_their_field: [
        r#"#[persist(transparent, class = "a", id = 4, version = 2, alias = "b", rename_all = "camelCase")]
#[persist(before_save = f, after_load = f, validate = f)]
struct Two {
    #[persist(rename = "x", alias = "y", default)]
    a: u8,
    b: u8,
}"#,
        "#[persist(transparent)] enum E { A(u8) }",
        "#[persist(transparent)] struct None(#[persist(skip)] u8);",
    ];

    blocks_of_memory_that_are_more_than_their_fields: [
        "#[persist(pod)] enum Side { Left, Right }",
        "#[persist(pod)] struct Pair<T> { first: T, second: T }",
        "#[persist(pod)] struct Nothing;",
        "#[persist(pod, transparent)] struct Metres(f32);",
        "#[persist(pod)] struct Hero { #[persist(skip)] path: u32, #[persist(with = m)] size: u32, \
             #[persist(convert = f)] speed: f32, #[persist(unknown)] rest: Unknown }",
    ];

    skip_failed_on_fields_without_elements: [
        "#[persist(transparent)] struct Bag(#[persist(skip_failed)] Vec<Item>);",
        "#[persist(pod)] struct Vertex { #[persist(skip_failed)] x: u32 }",
        "struct Hero { #[persist(skip_failed, skip)] path: Vec<u32>, #[persist(skip_failed, compact)] sizes: Vec<u32>, \
             #[persist(skip_failed, with = m)] size: u32, #[persist(skip_failed, unknown)] rest: Unknown }",
    ];

    compact_where_something_else_says_how_it_is_stored: [
        "#[persist(compact, transparent)] struct Metres(u32);",
        "#[persist(transparent)] struct Metres(#[persist(compact)] u32);",
        "#[persist(pod, compact)] struct Vertex { x: u32 }",
        "#[persist(pod)] struct Vertex { #[persist(compact)] x: u32 }",
        "struct Hero { #[persist(compact, skip)] path: u32, #[persist(compact, with = m)] size: u32, \
             #[persist(compact, unknown)] rest: Unknown }",
    ];

    a_context_for_nothing: [
        "#[persist(context = Items)] struct Hero { name: String }",
        "#[persist(context = RefCell<Items>, transparent)] struct Metres(u32);",
        "#[persist(context = 3)] struct Hero;",
        "struct Hero { #[persist(context = Items)] a: u8, #[persist(with = Cells, context = Items)] b: u8, #[persist(via = u8, context = Items)] c: u16 }",
    ];

    one_id_for_many_classes: [
        "#[persist(id = 7)]\nstruct Slot<T> { item: T }",
        "#[persist(id = 8)]\nstruct Grid<const N: usize>;",
    ];

    styles_and_versions_that_do_not_exist: ["#[persist(rename_all = \"Camel\", version = 0)]\nstruct Hero { a: u8 }"];

    fields_with_two_stored_types: [
        r#"struct Hero {
    #[persist(with = m, via = "u8", with_iter = n)]
    a: u8,
    #[persist(via = String, compact, convert = f)]
    b: u8,
    #[persist(with_iter = m, skip, empty = 3)]
    c: u8,
    #[persist(unknown, via = u8, empty = x)]
    d: Unknown,
}"#,
        "#[persist(via = u8, transparent, class = \"x\", version = 2)] struct Hero(#[persist(with = m)] u8);",
        "#[persist(via)] enum E { A(Box<E>) }",
        "enum E { A, #[persist(other)] B(#[persist(via = u8, empty = x)] Unknown) }",
    ];

    forms_that_are_no_adapter: [r#"struct Hero {
    #[persist(with = _)]
    a: u8,
    #[persist(with = "[m; 3]")]
    b: [u8; 3],
    #[persist(with = "Vec<m")]
    c: Vec<u8>,
    #[persist(with = "HashMap<m::<u8>, &str, fn()>")]
    d: u8,
    #[persist(with = "Rc<m>")]
    rc: Rc<Foreign>,
    #[persist(with = "SmallVec<_, 4>")]
    small: SmallVec<Foreign, 4>,
    #[persist(with = "Option<'static, m>")]
    e: u8,
    #[persist(with_iter = "m", via = 3)]
    f: u8,
    #[persist(with)]
    g: u8,
    #[persist(with = (), empty)]
    h: u8,
}"#];

    serde_attributes_of_another_form: [r#"#[persist(default = "a b")]
struct Hero {
    #[persist(rename(serialize = "a", deserialize = "b"), alias = "c")]
    a: u8,
    #[persist(default = "no path", empty = "")]
    b: String,
}"#];

    attributes_for_serde_alone_are_refused: [
        r#"#[serde(default, rename_all = "camelCase")]
struct City {
    #[serde(skip)] cache: Vec<u8>,
    #[serde(skip, default = "one")] speed: f32,
    #[serde(skip_serializing, skip_deserializing)] path: Vec<u8>,
    #[serde(default)] roads: u32,
    #[serde(default = "full", skip_serializing_if = "Option::is_none")] water: Option<u8>,
    #[persist(default)] #[serde(default = "full")] power: u8,
    #[persist(skip)] #[serde(skip, default = "full")] heat: u8,
    #[serde(rename(serialize = "a"), with = "grid::serde")] grid: Grid,
    #[serde(serialize_with = "text")] text: Grid,
}"#,
        "enum Zone { A { #[serde(skip)] cache: u8, #[serde(default)] level: u8 } }",
        r#"#[serde(default)] struct Camera { zoom: Option<u8> }"#,
        r#"#[serde(default)] struct Camera { #[persist(skip)] #[serde(skip)] cache: u8 }"#,
        r#"#[serde(from = "u8", into = "u8")] struct Tile(u8);"#,
    ];

    a_derive_inside_of_bitflags: [
        "struct Flags(<Flags as bitflags::__private::PublicFlags>::Internal);",
    ];

    texts_that_are_no_functions: [r#"struct Hero {
    #[persist(default = "Ada")] name: String,
    #[persist(default = "Ada", empty = "Bob")] boxed: Box<str>,
    #[persist(default = "Ada")] cow: std::borrow::Cow<'static, str>,
    #[persist(skip, default = "Ada")] borrowed: &'static str,
    #[persist(default = "Ada King")] both: String,
    #[persist(default = "")] nothing: String,
    #[persist(default = "Ada::name")] path: String,
    #[persist(default = "ada")] function: String,
    #[persist(default = "Level")] level: Level,
}"#];

    parts_that_say_what_the_owned_struct_says: [
        r#"#[persist(save_as = Simulation, class = "Sim", version = 2, default, transparent, bound = "T: Clone")]
struct SimulationRef<'a> {
    #[persist(rename = "map", alias = "old")] world: &'a World,
    #[persist(with = m, compact)] clock: &'a mut Clock,
    both: (&'a Clock, u8),
    option: Option<&'a Clock>,
    cow: Cow<'a, str>,
    object: &'a dyn Item,
    name: &'a str,
    list: &'a [u8],
    fixed: &'a &'static str,
    #[persist(skip)] cache: &'a Cache<'a>,
}"#,
        "#[persist(save_as = Mood)] enum MoodRef<'a> { Calm(&'a u8) }",
        "#[persist(save_as)] struct MoodRef<'a>(&'a u8);",
        "#[persist(save_as = \"a b\")] struct MoodRef<'a>(&'a u8);",
    ];

    hints_for_editors: [
        r#"struct Lamp {
    #[persist(range)] no_value: f32,
    #[persist(range = 3)] no_range: f32,
    #[persist(range = 0..10)] no_end: f32,
    #[persist(range = ..)] no_ends: f32,
    #[persist(range = 2.0..=-1.0)] reversed: f32,
    #[persist(range = 0..=9)] text: String,
    #[persist(label = "", help = 3)] words: u8,
    #[persist(color)] one: f32,
    #[persist(hidden = true, read_only(false))] flags: u8,
    #[persist(skip, label = "Path", hidden)] skipped: u8,
    #[persist(colour)] british: [f32; 3],
}"#,
        r#"enum Shape { Disc { #[persist(range = "0..=1")] radius: f32 } }"#,
        r#"#[persist(transparent)] struct Metres(#[persist(label = "Length")] f64);"#,
    ];
}

#[test]
fn too_many_variants() {
    let variants: String = (0..65_537).map(|i| format!("V{i},")).collect();
    let source = format!("enum Many {{ {variants} }}");
    snapshot("too_many_variants", &mistakes(&source));
}

#[test]
fn equal_attributes_for_serde_and_the_derive_are_accepted() {
    let sources = [
        r#"#[serde(default)] #[persist(default)] struct City {
            #[persist(skip)] #[serde(skip)] cache: Vec<u8>,
            #[persist(skip, default = one())] #[serde(skip, default = "one")] speed: f32,
            #[serde(default)] roads: u32,
            #[serde(default)] water: Option<u8>,
            #[persist(with = grid)] #[serde(with = "grid::serde")] grid: Grid,
            #[persist(via = u8)] #[serde(serialize_with = "text")] text: Grid,
            #[persist(unknown)] #[serde(skip)] rest: Unknown,
            #[persist(ignore_serde)] #[serde(skip)] saved: u8,
            #[serde(rename(serialize = "a", deserialize = "b"), flatten, skip_serializing_if = "f")] other: u8,
        }"#,
        r#"#[persist(ignore_serde)] struct Net { #[serde(skip)] saved: u8, #[serde(default)] also: u8 }"#,
        r#"#[persist(via = "u8")] #[serde(from = "u8", into = "u8")] struct Tile(#[serde(skip)] u8);"#,
        r#"#[persist(transparent)] #[serde(transparent)] struct Tile(#[serde(default)] u8);"#,
        r#"enum Zone { A, #[persist(other)] Other(#[serde(skip)] Unknown) }"#,
    ];
    for source in sources {
        super::expansion(source);
    }
}
