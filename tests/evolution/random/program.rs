//! The program: its types, and the same as data.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::Persist;

use super::model::{Class, Field, Form, Kind, Schema, Value, Variant, class, list, option};

const U8: Kind = Kind::Number(3);
const U16: Kind = Kind::Number(4);
const U32: Kind = Kind::Number(5);
const U128: Kind = Kind::Number(7);
const I16: Kind = Kind::Number(9);
const I32: Kind = Kind::Number(10);
const I64: Kind = Kind::Number(11);
const F32: Kind = Kind::Number(13);
const F64: Kind = Kind::Number(14);

#[derive(Persist, Debug)]
#[persist(alias = "Jewel")]
pub(crate) struct Gem {
    #[persist(alias = "weight")]
    carat: u16,
    #[persist(default = String::from("ruby"))]
    name: String,
    #[persist(id = 3)]
    hard: Option<f32>,
}

#[derive(Persist, Debug)]
#[persist(alias = "Form")]
pub(crate) enum Shape {
    #[persist(alias = "Point")]
    Dot,
    #[persist(alias = "Round")]
    Circle(u32),
    Rect {
        #[persist(alias = "x", alias = "width")]
        wide: f64,
        #[persist(default = 1)]
        high: i64,
        gem: Gem,
    },
    #[persist(other)]
    Odd,
}

#[derive(Persist, Debug)]
pub(crate) struct Spot {
    #[persist(default = 7)]
    z: u8,
    #[persist(alias = "1")]
    y: i32,
    #[persist(alias = "0")]
    x: i64,
}

#[derive(Persist, Debug)]
pub(crate) enum Side {
    North,
    #[persist(alias = "Down")]
    South,
    East,
}

#[derive(Persist, Debug)]
pub(crate) struct Level(u32);

#[derive(Persist, Debug)]
pub(crate) struct Tree {
    value: i16,
    kids: Vec<Tree>,
}

macro_rules! world {
    ($($field:ident: $ty:ty = $kind:expr $(, default $default:expr, $value:expr)?;)*) => {
        #[derive(Persist, Debug)]
        pub(crate) struct World {
            $($(#[persist(default = $default)])? $field: $ty,)*
        }

        fn world_fields() -> Vec<Field> {
            vec![$(field(stringify!($field), &[], $kind, world!(@ $($value)?))),*]
        }
    };
    (@) => { None };
    (@ $value:expr) => { Some($value) };
}

world! {
    small: u8 = U8, default 5, Value::Whole(5);
    whole: i64 = I64;
    large: u128 = U128;
    single: f32 = F32;
    double: f64 = F64, default 0.5, Value::Float(0.5_f64.to_bits());
    text: String = Kind::Text;
    maybe: Option<u32> = option(U32), default None, Value::None;
    maybe_gem: Option<Gem> = option(class("Gem")), default None, Value::None;
    numbers: Vec<i32> = list(I32);
    gems: Vec<Gem> = list(class("Gem"));
    three: [u16; 3] = Kind::Array(Box::new(U16), 3);
    two: [Gem; 2] = Kind::Array(Box::new(class("Gem")), 2);
    map: BTreeMap<u16, Gem> = Kind::Map(Box::new(U16), Box::new(class("Gem")));
    names: BTreeMap<String, u32> = Kind::Map(Box::new(Kind::Text), Box::new(U32));
    pairs: Vec<(u32, String)> = list(Kind::Tuple(vec![U32, Kind::Text]));
    tuple: (u8, i32, String) = Kind::Tuple(vec![U8, I32, Kind::Text]);
    shape: Shape = class("Shape");
    shapes: Vec<Option<Shape>> = list(option(class("Shape")));
    spot: Spot = class("Spot");
    spots: Vec<Spot> = list(class("Spot"));
    side: Side = class("Side");
    sides: Vec<Side> = list(class("Side"));
    level: Level = class("Level");
    levels: Option<Level> = option(class("Level")), default None, Value::None;
    boxed: Box<Gem> = class("Gem");
    tree: Tree = class("Tree");
    cell: Rc<RefCell<Gem>> = Kind::Reference(0x11, "Gem".into());
    lock: Arc<Mutex<Gem>> = Kind::Reference(0x23, "Gem".into());
    plain: Rc<Shape> = Kind::Reference(0x10, "Shape".into());
    shared: Rc<RefCell<Vec<u32>>> = Kind::Reference(0x11, "Vec<u32>".into());
    cells: Vec<Rc<RefCell<Gem>>> = list(Kind::Reference(0x11, "Gem".into()));
    maybe_cell: Option<Rc<RefCell<Gem>>> = option(Kind::Reference(0x11, "Gem".into())),
        default None, Value::None;
}

fn field(name: &str, aliases: &[&'static str], kind: Kind, default: Option<Value>) -> Field {
    Field { name: name.into(), aliases: aliases.into(), id: None, default, kind }
}

fn variant(name: &str, aliases: &[&'static str], fields: Vec<Field>) -> Variant {
    Variant { name: name.into(), aliases: aliases.into(), other: name == "Odd", fields }
}

/// The classes of the program, as data.
pub(crate) fn program() -> Schema {
    let structure = |name: &str, fields| Class { name: name.into(), form: Form::Struct(fields) };
    let gem = vec![
        field("carat", &["weight"], U16, None),
        field("name", &[], Kind::Text, Some(Value::Text("ruby".into()))),
        Field { id: Some(3), ..field("hard", &[], option(F32), Some(Value::None)) },
    ];
    let rect = vec![
        field("wide", &["x", "width"], F64, None),
        field("high", &[], I64, Some(Value::Whole(1))),
        field("gem", &[], class("Gem"), None),
    ];
    let shapes = vec![
        variant("Dot", &["Point"], vec![]),
        variant("Circle", &["Round"], vec![field("0", &[], U32, None)]),
        variant("Rect", &[], rect),
        variant("Odd", &[], vec![]),
    ];
    let sides = vec![
        variant("North", &[], vec![]),
        variant("South", &["Down"], vec![]),
        variant("East", &[], vec![]),
    ];
    let spot = vec![
        field("z", &[], U8, Some(Value::Whole(7))),
        field("y", &["1"], I32, None),
        field("x", &["0"], I64, None),
    ];
    let tree = vec![field("value", &[], I16, None), field("kids", &[], list(class("Tree")), None)];
    Schema {
        classes: vec![
            structure("World", world_fields()),
            structure("Gem", gem),
            Class { name: "Shape".into(), form: Form::Enum(shapes) },
            structure("Spot", spot),
            Class { name: "Side".into(), form: Form::Enum(sides) },
            structure("Level", vec![field("0", &[], U32, None)]),
            structure("Tree", tree),
            Class { name: "Vec<u32>".into(), form: Form::Bare(list(U32)) },
        ],
    }
}

/// What a class was called before.
pub(crate) fn old_name(name: &str) -> Option<&'static str> {
    match name {
        "Gem" => Some("Jewel"),
        "Shape" => Some("Form"),
        _ => None,
    }
}
