//! One section of the benchmarks while it runs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::harness::{Contender, Spread, measure};
use crate::report::{Figures, Role, Row};

/// How thoroughly it measures, and what it has measured.
pub(crate) struct Run {
    section: &'static str,
    /// Few rounds of small data: whether all works, not how fast.
    is_quick: bool,
    folder: PathBuf,
    rounds: u32,
    figures: Figures,
}

impl Run {
    pub(crate) fn new(section: &'static str, is_quick: bool, folder: PathBuf) -> Self {
        Self { section, is_quick, folder, rounds: 0, figures: Figures::default() }
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// A folder for files on a disk, which exists.
    pub(crate) fn folder(&self) -> PathBuf {
        std::fs::create_dir_all(&self.folder).expect("the folder can be made");
        self.folder.canonicalize().expect("it has just been made")
    }

    /// That many rounds, or few in a quick run.
    pub(crate) fn rounds(&mut self, full: u32) -> u32 {
        let rounds = if self.is_quick { full.div_ceil(15).max(2) } else { full };
        self.rounds = self.rounds.max(rounds);
        rounds
    }

    /// For what is measured once.
    pub(crate) fn one_round(&mut self) {
        self.rounds = 1;
    }

    /// Measures contenders for a table whose unit is that many microseconds.
    pub(crate) fn measure(
        &mut self,
        table: &str,
        set: &str,
        unit: f64,
        contenders: Vec<Contender<'_>>,
        rounds: u32,
    ) {
        for measured in measure(contenders, rounds) {
            let Spread { median, spread } = measured.time;
            let time = Spread { median: median / unit, spread };
            self.timed(table, measured.name, set, measured.role, time);
        }
    }

    pub(crate) fn timed(&mut self, table: &str, name: &str, set: &str, role: Role, time: Spread) {
        self.push(table, name, set, role, time.median, Some(time.spread));
    }

    /// A figure that is the same each time, such as a size.
    pub(crate) fn exact(&mut self, table: &str, name: &str, set: &str, role: Role, figure: f64) {
        self.push(table, name, set, role, figure, None);
    }

    #[expect(clippy::cast_precision_loss, reason = "nothing here has 2^52 bytes")]
    pub(crate) fn kilobytes(
        &mut self,
        table: &str,
        name: &str,
        set: &str,
        role: Role,
        bytes: usize,
    ) {
        self.exact(table, name, set, role, bytes as f64 / 1000.0);
    }

    /// Measures the section in other processes of this program, one after the other, and takes the medians.
    pub(crate) fn measure_in_processes(&mut self, count: usize) -> Result<(), String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut measured = Vec::new();
        for _ in 0..count {
            let mut command = Command::new(&program);
            command.args(["--print", "--only", self.section]).stderr(Stdio::inherit());
            let output = command.output().map_err(|error| error.to_string())?;
            let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
            let whole = text.strip_prefix("# ").and_then(|text| text.split_once('\n'));
            let (rounds, rows) = whole.filter(|_| output.status.success()).ok_or("it failed")?;
            self.rounds = rounds.parse().map_err(|_| "the rounds are no number")?;
            measured.push(Figures::parse(rows.trim_end())?);
        }
        self.figures = Figures::medians(measured)?;
        Ok(())
    }

    /// Takes what another program has measured.
    pub(crate) fn absorb(&mut self, csv: &str) -> Result<(), String> {
        Figures::parse(csv)?.into_rows().for_each(|row| self.figures.push(row));
        Ok(())
    }

    fn push(
        &mut self,
        table: &str,
        name: &str,
        set: &str,
        role: Role,
        figure: f64,
        spread: Option<f64>,
    ) {
        let table = format!("{}: {table}", self.section);
        let (name, set) = (name.to_owned(), set.to_owned());
        self.figures.push(Row { table, name, role, set, figure, spread });
    }

    pub(crate) fn finish(self) -> (u32, Figures) {
        (self.rounds, self.figures)
    }
}
