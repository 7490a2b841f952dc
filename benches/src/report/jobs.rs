//! The jobs of a game that are drawn, and the places of their figures.

use super::figures::Figures;

/// One line of the picture.
pub(super) struct Job {
    pub(super) title: &'static str,
    pub(super) detail: &'static str,
    /// Where the bytes of the save are, by table and set, and how many megabytes one unit is.
    size: Option<(&'static str, &'static str, f64)>,
    pub(super) save: Option<Step>,
    pub(super) load: Step,
}

/// A save or a load, or one of two other things that cost time.
pub(super) struct Step {
    table: &'static str,
    set: &'static str,
    /// Milliseconds of one unit of the table.
    unit: f64,
    /// The row with schema, header and checksums, if that is measured separately.
    whole: Option<&'static str>,
    /// The label, if it differs from the head of the column.
    pub(super) what: &'static str,
}

/// Milliseconds.
pub(super) struct Measured<'f> {
    pub(super) bare: f64,
    pub(super) whole: Option<f64>,
    /// The time of the fastest rival.
    pub(super) best: f64,
    pub(super) rival: &'f str,
}

const OURS: &str = "persist";

impl Step {
    pub(super) fn measured<'f>(&self, figures: &'f Figures) -> Result<Measured<'f>, String> {
        let get = |name| figures.get(self.table, name, self.set).map(|figure| figure * self.unit);
        let rival = figures.best(self.table, self.set);
        let rival = rival.ok_or(format!("\"{}\" has no rival of {}", self.table, self.set))?;
        Ok(Measured {
            bare: get(OURS)?,
            whole: self.whole.map(get).transpose()?,
            best: rival.figure * self.unit,
            rival: &rival.name,
        })
    }
}

impl Job {
    /// Describes the data, and the size of the save.
    pub(super) fn detail(&self, figures: &Figures) -> Result<String, String> {
        let Some((table, set, unit)) = self.size else { return Ok(self.detail.to_owned()) };
        let whole = figures.get(table, "persist, whole save", set);
        let megabytes = whole.or_else(|_| figures.get(table, OURS, set))? * unit;
        let digits = usize::from(megabytes < 10.0);
        Ok(format!("{}, {megabytes:.digits$} MB", self.detail))
    }
}

/// A data set: the bare codec beside bare codecs, and the whole save.
const fn values(title: &'static str, detail: &'static str, set: &'static str) -> Job {
    let (unit, what) = (0.001, "");
    let whole = Some("persist, whole save");
    let save = Step { table: "values: encode, us", set, unit, whole, what };
    let whole = Some("persist, whole load");
    let load = Step { table: "values: decode and drop, us", set, unit, whole, what };
    Job { title, detail, size: Some(("values: size, kB", set, 0.001)), save: Some(save), load }
}

const fn graph(title: &'static str, detail: &'static str, set: &'static str, objects: f64) -> Job {
    // From nanoseconds of one object.
    let (unit, whole, what) = (objects / 1e6, None, "");
    let save = Step { table: "graph: save, ns per object", set, unit, whole, what };
    let load = Step { table: "graph: load, ns per object", set, unit, whole, what };
    let size = Some(("graph: size, bytes per object", set, objects / 1e6));
    Job { title, detail, size, save: Some(save), load }
}

const fn step(table: &'static str, set: &'static str, unit: f64, what: &'static str) -> Step {
    Step { table, set, unit, whole: None, what }
}

pub(super) const JOBS: [Job; 12] = [
    values("State of a game", "50,000 items, 300 maps", "game"),
    Job {
        title: "The game in 300 parts",
        detail: "one manager",
        size: Some(("parts: size, kB", "game", 0.001)),
        save: Some(step("parts: save, ms", "game", 1.0, "")),
        load: step("parts: load, ms", "game", 1.0, ""),
    },
    values("Players of a block game", "500 players, nested", "minecraft_savedata"),
    values("Updates of a ship game", "1,000 updates", "mk48"),
    values("Log of a server", "10,000 entries", "log"),
    values("Chat in eight languages", "5,000 messages", "chat"),
    values("Triangle mesh", "125,000 triangles", "mesh"),
    Job {
        title: "Older save, one field added",
        detail: "500 players",
        size: Some(("values: size, kB", "minecraft_savedata", 0.001)),
        save: None,
        load: step("older: a field added, us", "minecraft_savedata", 0.001, ""),
    },
    graph("Graph with cycles", "10,000 objects", "random 10000", 1e4),
    graph("Graph without cycles", "1,000,000 objects", "earlier 1000000", 1e6),
    Job {
        title: "World of objects",
        detail: "1,000,000 of 3 components",
        size: Some(("world: size, kB", "1000000", 0.001)),
        save: Some(step("world: save into memory, ms", "1000000", 1.0, "")),
        load: step("world: load and drop, ms", "1000000", 1.0, ""),
    },
    Job {
        title: "Build of a program",
        detail: "200 structs, CPU time",
        size: None,
        save: Some(step("builds: 200 structs", "debug", 1000.0, "debug: ")),
        load: step("builds: 200 structs", "release", 1000.0, "release: "),
    },
];
