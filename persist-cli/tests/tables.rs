//! `convert` to tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use persist::{Persist, World};

use crate::game;
use crate::support::Folder;

/// Names and texts that mean something to SQL, to spreadsheets or to file systems.
#[derive(Persist)]
#[persist(class = "a.order/by \"x\"")]
struct Hostile {
    #[persist(rename = "select")]
    one: String,
    #[persist(rename = "a\"b, c\r\nd'; DROP TABLE objects; --")]
    two: String,
    #[persist(rename = "Name")]
    three: u64,
    #[persist(rename = "name")]
    four: f64,
    #[persist(rename = "save")]
    five: Option<Option<u8>>,
    #[persist(rename = "row")]
    six: Option<Vec<u8>>,
    #[persist(rename = "list, of \"lists\"")]
    seven: Vec<Vec<String>>,
    #[persist(rename = "7")]
    eight: Option<Nothing>,
    #[persist(rename = "sqlite_x")]
    nine: Box<Option<Tree>>,
}

#[derive(Persist)]
#[persist(class = "b.Order/by \"x\"")]
struct Nothing {}

#[derive(Persist)]
#[persist(class = "sqlite_master")]
struct Tree {
    left: Option<Box<Tree>>,
    value: u128,
}

fn hostile() -> Vec<u8> {
    let leaf = || Some(Box::new(Tree { left: None, value: 1 }));
    let hostile = Hostile {
        one: "=1+1".into(),
        two: "a \"quote\", a comma,\r\na line and \u{0} and 💾".into(),
        three: u64::MAX,
        four: f64::NAN,
        five: Some(None),
        six: Some(vec![0, 255]),
        seven: vec![vec![], vec![String::new(), " ".into()]],
        eight: Some(Nothing {}),
        nine: Box::new(Some(Tree { left: leaf(), value: 1 << 100 })),
    };
    persist::to_vec(&hostile).expect("a save")
}

/// The saves of the tests, each of another form.
fn folder() -> Folder {
    let folder = Folder::with(&["v1/graph.sav", "v1/values.sav", "v1/pointers.sav"]);
    game::quest(&folder.path("quest.sav")).expect("a quest");
    for (name, save) in [
        ("town", game::town()),
        ("game", game::game()),
        ("city", game::city()),
        ("metropolis", game::game_of_city()),
        ("kept", game::loaded_without_mod()),
        ("goblins", game::goblins()),
        ("empty", persist::to_vec(&World::new())),
        ("number", persist::to_vec(&7_u32)),
        ("list", persist::to_vec(&vec![Some(String::from("a")), None])),
        ("hostile", Ok(hostile())),
    ] {
        folder.write(format!("{name}.sav"), &save.expect("a save"));
    }
    folder
}

#[cfg(feature = "sqlite")]
const SAVES: [&str; 13] = [
    "graph",
    "values",
    "pointers",
    "quest",
    "town",
    "game",
    "city",
    "metropolis",
    "kept",
    "goblins",
    "empty",
    "number",
    "list",
];

/// The text of each file of a folder.
fn files(folder: &Folder, name: &str) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder.path(name)).expect("a folder");
    let file = |file: std::io::Result<fs::DirEntry>| {
        let file = file.expect("a file");
        let text = fs::read_to_string(file.path()).expect("text");
        (file.file_name().into_string().expect("text"), text)
    };
    files.map(file).collect()
}

/// The cells of a CSV text; `None` is an empty cell without quotes.
fn cells(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row, mut rest) = (Vec::new(), Vec::new(), text);
    while !rest.is_empty() {
        let cell = if let Some(quoted) = rest.strip_prefix('"') {
            let mut cell = String::new();
            rest = quoted;
            loop {
                let end = rest.find('"').expect("the end of a cell");
                cell.push_str(&rest[..end]);
                rest = &rest[end + 1..];
                let Some(more) = rest.strip_prefix('"') else { break };
                cell.push('"');
                rest = more;
            }
            Some(cell)
        } else {
            let end = rest.find([',', '\r']).expect("the end of a line");
            let cell = &rest[..end];
            rest = &rest[end..];
            (!cell.is_empty()).then(|| cell.to_owned())
        };
        row.push(cell);
        if let Some(next) = rest.strip_prefix(',') {
            rest = next;
        } else {
            rest = rest.strip_prefix("\r\n").expect("the end of a line");
            rows.push(std::mem::take(&mut row));
        }
    }
    rows
}

fn shown(files: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, content) in files {
        let content = content.replace("\r\n", "\n").replace('\r', "\\r").replace('\0', "\\0");
        write!(text, "== {name}\n{content}\n").expect("a string takes it");
    }
    text
}

#[test]
fn saves_become_folders_of_csv() {
    let folder = folder();
    assert_eq!(folder.run("convert town.sav --to csv -o town"), "");
    assert_eq!(folder.run("convert graph.sav --to csv -o graph/"), "");
    insta::assert_snapshot!(shown(&files(&folder, "town")) + &shown(&files(&folder, "graph")));
}

#[test]
fn names_and_texts_are_data_in_csv() {
    let folder = folder();
    assert_eq!(folder.run("convert hostile.sav --to csv -o new"), "");
    let files = files(&folder, "new");
    let rows = cells(&files["order_by__x_.csv"]);
    let texts = ["=1+1", "a \"quote\", a comma,\r\na line and \u{0} and 💾"];
    for text in texts {
        assert!(rows[1].contains(&Some(text.into())), "{rows:?}");
    }
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    insta::assert_snapshot!(shown(&files));
}

#[test]
fn a_column_says_which_of_several_saves_a_row_is_of() {
    let versions = [1, 2, 3, 4, 5].map(|version| format!("evolution/v{version}.sav"));
    let folder = Folder::with(&versions.each_ref().map(|name| &**name));
    folder.write("bad.sav", b"no save");
    let command = "convert v1.sav v2.sav bad.sav v3.sav v4.sav v5.sav --to csv -o all";
    let text = folder.run(command);
    insta::assert_snapshot!(text + &shown(&files(&folder, "all")));
}

#[test]
fn tables_are_refused_where_they_do_not_fit() {
    let folder = folder();
    fs::create_dir(folder.path("full")).expect("a folder");
    folder.write("full/note.txt", b"mine");
    folder.damage("quest.sav", "bad.sav", 90_000);
    folder.write("new.db", b"SQLite format 3\0");
    let commands = [
        "convert town.sav quest.sav -o new.sav",
        "convert town.sav new.sqlite",
        "convert new.db -o new.sav",
        "convert town.sav --to csv",
        "convert town.sav --to sqlite -o -",
        "convert town.sav --to csv --level 3 -o new",
        "convert town.sav - --to csv -o new < quest.sav",
        "convert town.sav --to csv -o full",
        "convert town.sav --to csv -o town.sav",
        "convert bad.sav --to csv -o new",
        "convert town.sav --to csv -o full --force --json",
        "convert bad.sav --to csv -o new --salvage --json",
        "convert --to csv -o stdin - --json < graph.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    assert_eq!(folder.read("full/note.txt"), b"mine");
}

#[test]
fn a_text_of_a_save_becomes_tables() {
    let folder = folder();
    folder.run("convert town.sav -o town.json");
    folder.run("convert town.json --to csv -o one");
    folder.run("convert town.sav --to csv -o two");
    let renamed = |name| shown(&files(&folder, name)).replace("town.json", "town.sav");
    assert_eq!(renamed("one"), renamed("two"));
}

/// Classes whose fields are as many as 8^14 where they lie in each other.
#[test]
fn classes_that_hold_each_other_in_many_ways_have_few_columns_and_tables() {
    const LEVELS: usize = 14;
    let folder = Folder::new();
    for (name, kind, value) in [
        ("options", "some(`A#` {})", serde_json::Value::Null),
        ("lists", "[`A#` {}]", serde_json::json!([])),
    ] {
        let class = |level: usize| {
            let kind = match level {
                LEVELS => String::from("\"u8\""),
                level => kind.replace('#', &(level + 1).to_string()),
            };
            let field = |name: char| format!("\"{name}\": {kind}");
            let fields: Vec<String> = ('a'..='h').map(field).collect();
            let (id, fields) = (0x1000 + level, fields.join(", "));
            format!(
                "Class {{ name: \"A{level}\", id: \"{id:#018x}\", version: 1u32, fields: {{ {fields} }} }}"
            )
        };
        let mut fields = serde_json::Map::new();
        fields.insert("$class".into(), "A0".into());
        fields.extend(('a'..='h').map(|name| (name.to_string(), value.clone())));
        let save = serde_json::json!({
            "save": 1,
            "classes": (0..=LEVELS).map(class).collect::<Vec<_>>(),
            "objects": [
                { "id": 1, "class": "A0", "holder": "Rc<RefCell>", "added": true, "value": fields }
            ],
        });
        folder.write(format!("{name}.json"), save.to_string().as_bytes());
        assert_eq!(folder.run(&format!("convert {name}.json --to csv -o {name}")), "");
        let files = files(&folder, name);
        assert!(files.len() <= 2_000, "{}", files.len());
        let widest = files.values().map(|text| cells(text)[0].len()).max();
        assert!(widest.is_some_and(|columns| columns <= 510), "{name}: {widest:?}");
        assert_eq!(cells(&files["A0.csv"]).len(), 2, "{name}");
    }
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn without_sqlite_the_error_says_how_to_install_it() {
    insta::assert_snapshot!(folder().transcript(["convert town.sav -o town.sqlite"]));
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use rusqlite::Connection;
    use rusqlite::types::Value;
    use serde_json::Value as Json;

    use super::*;

    fn database(folder: &Folder, saves: &str, new: &str) -> Connection {
        assert_eq!(folder.run(&format!("convert {saves} -o {new}")), "");
        Connection::open(folder.path(new)).expect("a database")
    }

    fn rows(database: &Connection, query: &str) -> Vec<Vec<Value>> {
        let mut query = database.prepare(query).expect("a query");
        let columns = query.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        let rows = query.query_map((), row).expect("rows");
        rows.map(|row| row.expect("a row")).collect()
    }

    fn numbers(database: &Connection, query: &str) -> Vec<i64> {
        let number = |row: Vec<Value>| match row[..] {
            [Value::Integer(number)] => number,
            ref other => panic!("{query}: {other:?}"),
        };
        rows(database, query).into_iter().map(number).collect()
    }

    fn json(folder: &Folder, command: &str) -> Json {
        serde_json::from_slice(&folder.output(command).stdout).expect("JSON")
    }

    #[test]
    fn each_object_has_a_row_and_references_lead_to_rows() {
        let folder = folder();
        for name in SAVES.into_iter().chain(["hostile"]) {
            let database = database(&folder, &format!("{name}.sav"), &format!("{name}.sqlite"));
            let broken = rows(&database, "PRAGMA foreign_key_check");
            assert!(broken.is_empty(), "{name}: {broken:?}");
            assert_eq!(rows(&database, "PRAGMA integrity_check"), [[Value::Text("ok".into())]]);
            let info = &json(&folder, &format!("info {name}.sav --json"))[0];
            let of_worlds = info["worlds"]["objects"].as_i64().unwrap_or(0);
            let objects = info["objects"].as_i64().expect("a number") + of_worlds;
            let counted = numbers(&database, "SELECT count(*) FROM objects WHERE number NOTNULL");
            assert_eq!(counted, [objects], "{name}");
            let members = "SELECT count(*) FROM objects WHERE world NOTNULL";
            assert_eq!(numbers(&database, members), [of_worlds], "{name}");
        }
    }

    #[test]
    fn csv_has_the_cells_of_the_database() {
        let folder = folder();
        for name in SAVES {
            let database = database(&folder, &format!("{name}.sav"), &format!("{name}.sqlite"));
            folder.run(&format!("convert {name}.sav --to csv -o {name}"));
            let tables = rows(&database, "SELECT name FROM sqlite_schema WHERE type = 'table'");
            let files = files(&folder, name);
            assert_eq!(tables.len(), files.len(), "{name}");
            for table in tables {
                let [Value::Text(table)] = &table[..] else { panic!("{table:?}") };
                let rows = rows(&database, &format!("SELECT * FROM \"{table}\""));
                let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
                let plain = table.replace(|c| !plain(c), "_");
                let text = files.get(&format!("{plain}.csv"));
                let text = text.unwrap_or_else(|| panic!("{table}: {:?}", files.keys()));
                let mut cells = cells(text).split_off(1);
                // A row follows the rows of the values in it.
                cells.sort_by_key(|row| row[0].as_ref().and_then(|row| row.parse::<i64>().ok()));
                assert_eq!(rows.len(), cells.len(), "{name} {table}");
                for (row, cells) in rows.iter().zip(&cells) {
                    assert_eq!(row.len(), cells.len(), "{name} {table}");
                    for (value, cell) in row.iter().zip(cells) {
                        assert_alike(value, cell.as_deref(), &format!("{name} {table}"));
                    }
                }
            }
        }
    }

    fn assert_alike(value: &Value, cell: Option<&str>, place: &str) {
        let is_alike = match (value, cell) {
            (Value::Null, cell) => cell.is_none_or(|it| it == "nan"),
            (Value::Integer(bit), Some(bool @ ("true" | "false"))) => {
                (*bit == 1) == (bool == "true")
            }
            (Value::Integer(number), Some(cell)) => *cell == number.to_string(),
            (Value::Real(number), Some(cell)) => cell.parse() == Ok(*number),
            (Value::Text(text), Some(cell)) => text == cell,
            (Value::Blob(bytes), cell) => {
                let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                cell.unwrap_or_default() == hex
            }
            _ => false,
        };
        assert!(is_alike, "{place}: {value:?} {cell:?}");
    }

    #[test]
    fn values_are_those_that_get_prints() {
        let folder = folder();
        let quest = database(&folder, "quest.sav", "quest.sqlite");
        let get = |save: &str, path: &str| {
            let found = json(&folder, &format!("get {save} '{path}' --json"));
            found[0]["value"].clone()
        };
        let query = "SELECT number, i.name, worth FROM Item i JOIN objects o ON o.id = object
            WHERE number % 37 = 5";
        let items = rows(&quest, query);
        assert!(items.len() > 5, "{items:?}");
        for item in items {
            let [Value::Integer(number), Value::Text(name), Value::Real(worth)] = &item[..] else {
                panic!("{item:?}")
            };
            assert_eq!(get("quest.sav", &format!("#{number}.name")), *name);
            assert_eq!(get("quest.sav", &format!("#{number}.worth")), *worth);
        }
        for name in ["city", "metropolis"] {
            let save = format!("{name}.sav");
            let city = database(&folder, &save, &format!("{name}.sqlite"));
            let query = "SELECT path, number, x FROM Transform t JOIN objects o ON o.id = t.object
                WHERE number % 977 = 3";
            let people = rows(&city, query);
            assert!(people.len() > 3, "{people:?}");
            for person in people {
                let [Value::Text(path), Value::Integer(number), Value::Real(x)] = &person[..]
                else {
                    panic!("{person:?}")
                };
                assert_eq!(get(&save, &format!("{path}:Transform.x")), *x, "{path}");
                let object = json(&folder, &format!("get {save} '{path}.id' --json"));
                assert_eq!(object[0]["value"], *number, "{path}");
            }
        }
    }

    #[test]
    fn questions_are_asked_in_sql() {
        let folder = folder();
        let all = database(&folder, "quest.sav town.sav game.sav city.sav", "all.sqlite");
        let ask = |query: &str| rows(&all, query);
        let text = |text: &str| Value::Text(text.into());
        let rivals = "SELECT a.name, b.name FROM Hero a JOIN Hero b ON a.rival = b.object";
        assert_eq!(ask(rivals), [[text("Ada"), text("Bob")], [text("Bob"), text("Ada")]]);
        let items = "SELECT h.name, count(*) FROM Hero h JOIN Hero_items i ON i.parent = h.row
            JOIN Item ON Item.object = i.value GROUP BY h.row";
        assert_eq!(
            ask(items),
            [[text("Ada"), Value::Integer(150)], [text("Bob"), Value::Integer(150)]]
        );
        let angry = "SELECT m.save, o.path, at.name FROM Mood m JOIN objects o ON o.id = m.object
            JOIN objects at ON at.id = m.Angry_at WHERE variant = 'Angry'";
        let door = |save, path| [text(save), text(path), text("House")];
        assert_eq!(
            ask(angry),
            [
                door("town.sav", "/House/Door"),
                door("game.sav", ".level/House/Door"),
                door("city.sav", "/House/Door")
            ]
        );
        let sold = "SELECT b.save, sum(count) FROM Bag b JOIN Bag_items i ON i.parent = b.row
            GROUP BY b.save ORDER BY b.save";
        let sum = |save| [text(save), Value::Integer(412)];
        assert_eq!(ask(sold), ["city.sav", "game.sav", "town.sav"].map(sum));
        let days = "SELECT key, value FROM Bag_by_day d JOIN Bag b ON b.row = d.parent
            WHERE save = 'town.sav'";
        assert_eq!(
            ask(days),
            [[Value::Integer(-1), Value::Null], [Value::Integer(3), Value::Integer(9)]]
        );
        let score = "SELECT points, digest, odd, o.class FROM Score s JOIN objects o
            ON o.id = s.object WHERE s.save = 'game.sav'";
        let score_row = [Value::Integer(5), Value::Blob(vec![1, 2, 255]), Value::Null];
        assert_eq!(ask(score)[0][..3], score_row);
        assert!(rows(&all, "PRAGMA foreign_key_check").is_empty());
    }

    #[test]
    fn names_and_texts_are_data_in_sql() {
        let folder = folder();
        let database = database(&folder, "hostile.sav", "new.sqlite");
        let query = "SELECT sql FROM sqlite_schema WHERE type = 'table'";
        let schema = rows(&database, query).into_iter().map(|row| match &row[..] {
            [Value::Text(sql)] => sql.replace('\r', "\\r").replace(", \"", ",\n    \""),
            other => panic!("{other:?}"),
        });
        insta::assert_snapshot!(schema.collect::<Vec<_>>().join("\n"));
        let query = "SELECT \"select\", \"Name\", name_2, save_2, row_2, value_7, _sqlite_x_value,
            _sqlite_x_left FROM \"order/by \"\"x\"\"\"";
        let text = |text: &str| Value::Text(text.into());
        let expected = [
            text("=1+1"),
            text("18446744073709551615"),
            Value::Null,
            Value::Null,
            Value::Blob(vec![0, 255]),
            Value::Integer(1),
            text("1267650600228229401496703205376"),
            text("some(sqlite_master { left: none, value: 1u128 })"),
        ];
        assert_eq!(rows(&database, query), [expected]);
        let query =
            "SELECT \"a\"\"b, c\r\nd'; DROP TABLE objects; --\" FROM \"order/by \"\"x\"\"\"";
        let expected = text("a \"quote\", a comma,\r\na line and \u{0} and 💾");
        assert_eq!(rows(&database, query), [[expected]]);
    }

    #[test]
    fn a_removed_object_has_a_row_of_its_id_alone() {
        let folder = Folder::new();
        let mut world = World::new();
        let [door, house] = ["Door", "House"].map(|name| world.spawn(name));
        world.attach(door, game::Leads { to: house }).expect("it is there");
        world.remove(house);
        folder.write("a.sav", &persist::to_vec(&world).expect("a save"));
        let database = database(&folder, "a.sav", "a.sqlite");
        let to = "SELECT \"to\" FROM Leads";
        let [id] = numbers(&database, to)[..] else { panic!("one row") };
        let query = format!("SELECT number, path FROM objects WHERE id = {id}");
        assert_eq!(rows(&database, &query), [[Value::Null, Value::Null]]);
        assert!(rows(&database, "PRAGMA foreign_key_check").is_empty());
    }
}
