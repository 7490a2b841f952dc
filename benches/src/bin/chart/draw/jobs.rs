//! What is drawn: jobs of a game, and where their figures are.

use super::figures::Figures;

/// One line of the picture.
pub(super) struct Job {
    pub(super) title: &'static str,
    pub(super) detail: &'static str,
    pub(super) size: Size,
    pub(super) save: Option<Step>,
    pub(super) load: Step,
}

/// Where the bytes of the save are, and how many bytes one unit is.
pub(super) struct Size {
    table: &'static str,
    name: &'static str,
    set: &'static str,
    unit: f64,
}

/// A save or a load.
pub(super) struct Step {
    table: &'static str,
    set: &'static str,
    /// Milliseconds of one unit of the table.
    unit: f64,
    /// What is compared with the rivals.
    alone: &'static str,
    /// With schema, header and checksums, where that is measured apart.
    whole: Option<&'static str>,
    /// What the table calls them, and the picture.
    rivals: &'static [(&'static str, &'static str)],
}

/// Milliseconds.
pub(super) struct Measured {
    pub(super) alone: f64,
    pub(super) whole: Option<f64>,
    /// Of the fastest rival.
    pub(super) best: f64,
    pub(super) rival: &'static str,
}

impl Step {
    pub(super) fn measured(&self, figures: &Figures<'_>) -> Result<Measured, String> {
        let get = |name| figures.get(self.table, name, self.set).map(|figure| figure * self.unit);
        let (mut best, mut rival) = (f64::INFINITY, "");
        for &(row, name) in self.rivals {
            let time = get(row)?;
            if time < best {
                (best, rival) = (time, name);
            }
        }
        Ok(Measured {
            alone: get(self.alone)?,
            whole: self.whole.map(get).transpose()?,
            best,
            rival,
        })
    }
}

impl Size {
    pub(super) fn megabytes(&self, figures: &Figures<'_>) -> Result<String, String> {
        let bytes = figures.get(self.table, self.name, self.set)? * self.unit;
        let megabytes = bytes / 1e6;
        Ok(if megabytes < 10.0 {
            format!("{megabytes:.1} MB")
        } else {
            format!("{megabytes:.0} MB")
        })
    }
}

/// A public data set: the bare codec beside bare codecs, and the whole save.
const fn values(title: &'static str, detail: &'static str, set: &'static str) -> Job {
    const CODECS: &[(&str, &str)] =
        &[("wincode", "wincode"), ("bitcode", "bitcode"), ("savefile", "savefile")];
    let (unit, alone, rivals) = (0.001, "persist", CODECS);
    let whole = Some("persist, whole save, manager kept");
    let save = Step { table: "encode, us", set, unit, alone, whole, rivals };
    let whole = Some("persist, whole load");
    let load = Step { table: "decode and drop, us", set, unit, alone, whole, rivals };
    let size = Size { table: "size, bytes", name: "persist, whole save", set, unit: 1.0 };
    Job { title, detail, size, save: Some(save), load }
}

const fn graph(
    title: &'static str,
    detail: &'static str,
    set: &'static str,
    objects: f64,
    rivals: &'static [(&'static str, &'static str)],
) -> Job {
    // From nanoseconds of one object.
    let (unit, alone, whole) = (objects / 1e6, "persist", None);
    let save = Step { table: "graph, save, ns per object", set, unit, alone, whole, rivals };
    let load = Step { table: "graph, load, ns per object", set, unit, alone, whole, rivals };
    let size = Size { table: "graph, size, bytes per object", name: alone, set, unit: objects };
    Job { title, detail, size, save: Some(save), load }
}

const fn world(table: &'static str) -> Step {
    let rivals = &[("hecs columns, postcard", "hecs + postcard")];
    Step { table, set: "1000000", unit: 1.0, alone: "persist", whole: None, rivals }
}

pub(super) const JOBS: [Job; 8] = [
    values("Players of a block game", "500 players, nested", "minecraft_savedata"),
    values("Updates of a ship game", "1,000 updates", "mk48"),
    values("Log of a server", "10,000 entries", "log"),
    values("Triangle mesh", "125,000 triangles", "mesh"),
    Job {
        title: "Older save, one field added",
        detail: "500 players",
        size: Size {
            table: "size, bytes",
            name: "persist, whole save",
            set: "minecraft_savedata",
            unit: 1.0,
        },
        save: None,
        load: Step {
            table: "load a save from before a field was added, us",
            set: "minecraft_savedata",
            unit: 0.001,
            alone: "persist",
            whole: None,
            rivals: &[("savefile", "savefile")],
        },
    },
    graph("Graph with cycles", "10,000 objects", "random 10000", 1e4, &[("fory-weak", "fory")]),
    graph("Graph without cycles", "1,000,000 objects", "earlier 1000000", 1e6, &[("fory", "fory")]),
    Job {
        title: "World of objects",
        detail: "1,000,000 of 3 components",
        size: Size { table: "world, size, bytes", name: "persist", set: "1000000", unit: 1.0 },
        save: Some(world("world, save into memory, ms")),
        load: world("world, load and drop, ms"),
    },
];
