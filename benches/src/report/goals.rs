//! The goals, next to the figures that are reached.

use super::figures::Figures;
use super::tables::number;

/// A row of goals: in each cell what was measured, and the goal.
struct Goal {
    name: &'static str,
    cells: &'static [(Measure, f64)],
}

/// Where a figure stands: its table, contender and set.
type Place = (&'static str, &'static str, &'static str);

enum Measure {
    Figure(Place),
    Ratio(Place, Place),
    /// To the best rival of the table and set.
    ToBest(Place),
}

impl Measure {
    fn of(&self, figures: &Figures) -> Option<f64> {
        let find = |(table, name, set): &Place| figures.find(table, name, set);
        match self {
            Self::Figure(place) => find(place),
            Self::Ratio(place, base) => Some(find(place)? / find(base)?),
            Self::ToBest(place) => Some(find(place)? / figures.best(place.0, place.2)?.figure),
        }
    }
}

/// A ratio up to which a goal counts as reached.
const TIE: f64 = 1.1;

const SAVE: &str = "graph: save, ns per object";
const LOAD: &str = "graph: load, ns per object";

macro_rules! against {
    ($rival:literal, $set:literal: $save:literal, $load:literal) => {
        &[
            (Measure::Ratio((SAVE, "persist", $set), (SAVE, $rival, $set)), $save),
            (Measure::Ratio((LOAD, "persist", $set), (LOAD, $rival, $set)), $load),
        ]
    };
}

macro_rules! figures {
    ($($table:literal, $set:literal: $goal:literal;)*) => {
        &[$((Measure::Figure(($table, "persist", $set)), $goal)),*]
    };
}

const GRAPHS: &[Goal] = &[
    Goal {
        name: "10^6, random, x deep copy",
        cells: against!("deep copy", "random 1000000": 1.35, 2.0),
    },
    Goal {
        name: "10^6, local, x deep copy",
        cells: against!("deep copy", "local 1000000": 1.4, 2.2),
    },
    Goal {
        name: "10^4, random, x deep copy",
        cells: against!("deep copy", "random 10000": 2.0, 3.2),
    },
    Goal {
        name: "10^6, tables, bytes per object",
        cells: figures![
            "memory: tables of a save, bytes per object", "random 1000000": 44.0;
            "memory: tables of a load, bytes per object", "random 1000000": 90.0;
        ],
    },
    Goal {
        name: "1 object, us",
        cells: figures!["graph: small, save, us", "1": 1.0; "graph: small, load and free, us", "1": 2.5;],
    },
    Goal {
        name: "100 objects, us",
        cells: figures!["graph: small, save, us", "100": 8.0; "graph: small, load and free, us", "100": 18.0;],
    },
    Goal { name: "10^6, earlier, x fory", cells: against!("fory", "earlier 1000000": 0.6, 0.8) },
];

const ENCODE: &str = "values: encode, us";
const DECODE: &str = "values: decode and drop, us";

macro_rules! values {
    ($table:ident, $row:literal: $($goal:literal)*) => { values!(@ $table, $row, [$($goal)*]) };
    (@ $table:ident, $row:literal, [$log:literal $mesh:literal $minecraft:literal $mk48:literal]) => {
        &[
            (Measure::ToBest(($table, $row, "log")), $log),
            (Measure::ToBest(($table, $row, "mesh")), $mesh),
            (Measure::ToBest(($table, $row, "minecraft_savedata")), $minecraft),
            (Measure::ToBest(($table, $row, "mk48")), $mk48),
        ]
    };
}

const fn first(set: &'static str) -> (Measure, f64) {
    let later = (ENCODE, "persist, whole save", set);
    (Measure::Ratio((ENCODE, "persist, first save", set), later), 1.3)
}

const VALUES: &[Goal] = &[
    Goal { name: "encode, x best rival", cells: values!(ENCODE, "persist": 0.70 1.02 0.95 0.80) },
    Goal { name: "decode, x best rival", cells: values!(DECODE, "persist": 1.00 1.02 1.05 1.00) },
    Goal {
        name: "into existing, x best rival",
        cells: values!(DECODE, "persist, into existing": 0.30 1.02 0.35 0.35),
    },
    Goal {
        name: "whole save, x best rival",
        cells: values!(ENCODE, "persist, whole save": 0.85 1.30 1.05 0.90),
    },
    Goal {
        name: "first save, x whole save",
        cells: &[first("log"), first("mesh"), first("minecraft_savedata"), first("mk48")],
    },
    Goal {
        name: "whole load, x best rival",
        cells: values!(DECODE, "persist, whole load": 1.03 1.30 1.08 1.05),
    },
];

/// A goal of the data set `game`, as a ratio to postcard.
macro_rules! game {
    ($name:literal: $table:literal, $row:literal, $goal:literal) => {
        Goal {
            name: $name,
            cells: &[(Measure::Ratio(($table, $row, "game"), ($table, "postcard", "game")), $goal)],
        }
    };
}

const GAME: &[Goal] = &[
    game!("one value: encode": "values: encode, us", "persist", 1.1),
    game!("one value: decode": "values: decode and drop, us", "persist", 0.8),
    game!("300 parts: save": "parts: save, ms", "persist", 1.3),
    game!("300 parts: load": "parts: load, ms", "persist", 1.3),
    game!("bytes with `compact`": "values: size, kB", "persist, compact", 1.05),
];

/// The table of goals of that name, if it is one.
pub(super) fn render(name: &str, figures: &Figures) -> Option<String> {
    let (goals, headings): (_, &[&str]) = match name {
        "goals of graphs" => (GRAPHS, &["save", "load"]),
        "goals of values" => (VALUES, &["log", "mesh", "minecraft_savedata", "mk48"]),
        "goals of a game" => (GAME, &["x postcard"]),
        _ => return None,
    };
    let mut text = format!("| reached (goal) | {} |\n", headings.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(headings.len()));
    for Goal { name, cells } in goals {
        let cell = |(measure, goal): &(Measure, f64)| {
            let is_missed = |reached: f64| reached > goal * TIE;
            let reached = measure.of(figures);
            let bold = if reached.is_some_and(is_missed) { "**" } else { "" };
            let reached = reached.map_or("-".into(), number);
            format!("{bold}{reached}{bold} ({})", number(*goal))
        };
        let cells: Vec<String> = cells.iter().map(cell).collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    Some(text)
}
