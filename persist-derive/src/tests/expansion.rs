use super::{expansion, snapshot};

/// A snapshot of the code for a type.
pub(super) fn expanded(name: &str, source: &str) {
    snapshot(name, &expansion(source));
}

snapshots! { expanded:
    struct_with_every_sort_of_field: r#"
        #[persist(class = "quest.Hero", id = 7, version = 3, alias = "old.Hero", rename_all = "camelCase")]
        #[persist(before_save = Hero::tidy, validate = Hero::check)]
        struct Hero {
            hit_points: u32,
            #[persist(rename = "name", alias = "title")]
            r#type: String,
            #[persist(default = 1.5)]
            speed: f32,
            next: Option<Box<Hero>>,
            #[persist(with = colour, default)]
            cloak: Colour,
            #[persist(skip)]
            cache: Vec<u8>,
            pos: (f32, f32),
        }
        "#;

    struct_with_a_default_for_its_fields: r#"
        #[persist(default = Hero::new(3))]
        struct Hero<T> {
            name: String,
            #[persist(default = 1.5)]
            speed: f32,
            #[persist(with = colour)]
            cloak: Colour,
            #[persist(empty = None)]
            next: Option<T>,
            #[persist(skip)]
            cache: Vec<u8>,
            #[persist(unknown)]
            rest: Unknown,
        }
        "#;

    transparent_struct_with_a_default_for_its_fields:
        "#[persist(transparent, default)] struct Metres<T> { length: T, #[persist(skip)] shown: bool }";

    struct_with_an_empty_value: "#[persist(empty)] struct Slot<T> { item: T }";

    parts_that_are_saved_as_a_struct: r#"
        #[persist(save_as = Simulation)]
        struct SimulationRef<'a> {
            world: &'a World,
            clock: &'a mut Clock,
            tick: u64,
            names: &'a [String],
            title: &'a str,
            #[persist(skip)]
            cache: &'a Cache,
        }
        "#;

    generic_parts_that_are_saved_as_a_struct:
        "#[persist(save_as = Slot<T>)] struct SlotRef<'a, T>(&'a T, &'a [T]);";

    tuple_struct: "pub struct Pair(u8, #[persist(skip, default = 3)] u8, pub String);";

    unit_struct: "struct Marker;";

    generic_struct: r#"
        #[persist(crate = my_engine::persist)]
        struct Grid<T: Clone, I: Iterator, M, const N: usize = 4> where T: Copy {
            cells: [T; N],
            seen: Vec<I::Item>,
            mark: PhantomData<M>,
            #[persist(skip)]
            scratch: Vec<M>,
        }
        "#;

    generic_struct_whose_class_names_its_markers: r#"
        #[persist(name_markers)]
        struct Cooldown<T, const N: usize> {
            left: [f32; N],
            of: PhantomData<fn() -> T>,
        }
        "#;

    bounds_of_the_users_own: r#"
        #[persist(bound = "T: Asset + Persist, U: Asset")]
        struct Slot<T, U>(T, #[persist(with = by_name)] Handle<U>);
        "#;

    enum_with_payload: r#"
        #[persist(rename_all = "snake_case", after_load = wake)]
        enum Expr {
            Add(Box<Expr>, Box<Expr>),
            #[persist(rename = "lit", alias = "number")]
            Literal { value: i64, #[persist(default = "none".into())] unit: String },
            #[persist(empty)]
            Nothing,
        }
        "#;

    enum_of_bare_variants: "enum Weather { Sun, #[default] Rain, Snow = 7 }";

    pod_struct: "#[persist(pod)] struct Vertex { position: [f32; 3], colour: u32 }";

    component: "#[persist(component)] struct Alive;";

    compact_fields: "struct Item { #[persist(compact, default = 1)] count: u32, name: String, \
             #[persist(compact, convert = f)] bonus: Option<i32> }";

    compact_enum: "#[persist(compact)] enum Loot { Nothing, Coins(u32), Item { name: String } }";

    hints_for_editors_of_a_field: r#"
        enum Shape {
            Disc {
                #[persist(label = "Radius", help = "In metres", range = -1..=MOST)]
                radius: f32,
                #[persist(color, range = 0.5.., hidden, read_only, default)]
                light: [f32; 3],
            },
        }
        "#;

    transparent_struct: "#[persist(transparent)] struct Metres<T> { length: T, #[persist(skip)] shown: bool }";

    lifts: r#"
        struct Bag<T> {
            #[persist(with = "HashMap<_, Option<colour>>", empty = HashMap::new())]
            colours: HashMap<T, Option<Colour>>,
            #[persist(with_iter = tiles)]
            tiles: Tiles,
            #[persist(via = "[f32; 4]", default = "identity")]
            turn: Quat,
        }
        "#;
}

#[test]
fn more_than_256_variants_take_two_bytes() {
    let variants: String = (0..257).map(|i| format!("V{i},")).collect();
    let code = expansion(&format!("enum Many {{ {variants} }}"));
    assert!(code.contains("(2usize, &[])"), "{code}");
    assert!(code.contains("Self::V256 { .. } => 256u16"));
    assert!(code.contains("256u16 => Self::V256 {}"));
}

#[test]
fn styles_of_rename_all() {
    let names = |style: &str| -> Vec<String> {
        let code = expansion(&format!(
            r#"#[persist(rename_all = "{style}")]
            enum Sort {{ #[persist(rename_all = "{style}")] GiantRat {{ hit_points: u8 }} }}"#
        ));
        let of = |start: &str| {
            let line = code.lines().find(|line| line.contains(start)).expect("a name");
            line.split('"').nth(1).expect("a string").to_owned()
        };
        let fields = code.find("fields: &[").expect("fields");
        let field = code[fields..].split('"').nth(1).expect("a string").to_owned();
        vec![of("name: \""), field]
    };
    assert_eq!(names("lowercase"), ["giantrat", "hit_points"]);
    assert_eq!(names("UPPERCASE"), ["GIANTRAT", "HIT_POINTS"]);
    assert_eq!(names("PascalCase"), ["GiantRat", "HitPoints"]);
    assert_eq!(names("camelCase"), ["giantRat", "hitPoints"]);
    assert_eq!(names("snake_case"), ["giant_rat", "hit_points"]);
    assert_eq!(names("SCREAMING_SNAKE_CASE"), ["GIANT_RAT", "HIT_POINTS"]);
    assert_eq!(names("kebab-case"), ["giant-rat", "hit-points"]);
    assert_eq!(names("SCREAMING-KEBAB-CASE"), ["GIANT-RAT", "HIT-POINTS"]);
}

#[test]
fn types_that_are_stored_as_another() {
    snapshot(
        "types_that_are_stored_as_another",
        &[
            "#[persist(transparent)] struct Path(#[persist(with = \"[Point]\")] [Vec2; 3]);",
            "#[persist(via = \"Vec<T>\")] struct Grid<T> { cells: T }",
        ]
        .map(expansion)
        .join("\n"),
    );
}
