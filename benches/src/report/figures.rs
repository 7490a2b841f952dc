//! The figures of the benchmarks, as stored in `figures.csv`.

use std::fmt;

/// All figures, and under which conditions each section was measured.
#[derive(Default)]
pub(crate) struct Figures {
    /// The lines of comments: a section, then its date, rounds, machine and compiler, divided by bars.
    conditions: Vec<String>,
    rows: Vec<Row>,
}

pub(crate) struct Row {
    /// `section: what, unit`.
    pub(crate) table: String,
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The data, or the column if a table has one for each step.
    pub(crate) set: String,
    pub(crate) figure: f64,
    /// How far the rounds lie apart, as a part of the figure.
    pub(crate) spread: Option<f64>,
}

/// The role of a row in its table.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    Ours,
    Rival,
    /// A lower bound: nothing that does the work can be faster.
    Floor,
}

impl Role {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Ours, "ours"), (Self::Rival, "rival"), (Self::Floor, "floor")];
}

const HEAD: &str = "table,row,set,role,figure,spread";

impl Figures {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut figures = Self::default();
        for line in text.lines() {
            if let Some(condition) = line.strip_prefix("# ") {
                figures.conditions.push(condition.to_owned());
            } else if line != HEAD {
                let row = Row::parse(line).ok_or(format!("this line has no figure: {line}"))?;
                figures.rows.push(row);
            }
        }
        Ok(figures)
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Replaces the figures of a section, at its place.
    pub(crate) fn replace(&mut self, section: &str, condition: String, others: Self) {
        let is_condition = |line: &String| section_of(line, '|') == section;
        let at = self.conditions.iter().position(is_condition).unwrap_or(self.conditions.len());
        self.conditions.retain(|line| !is_condition(line));
        self.conditions.insert(at, condition);
        let is_row = |row: &Row| section_of(&row.table, ':') == section;
        let at = self.rows.iter().position(is_row).unwrap_or(self.rows.len());
        self.rows.retain(|row| !is_row(row));
        self.rows.splice(at..at, others.rows);
    }

    /// The median of each row, and of its spread, of several that have the same rows.
    pub(crate) fn medians(all: Vec<Self>) -> Result<Self, String> {
        let mut columns: Vec<_> = all.into_iter().map(|figures| figures.rows.into_iter()).collect();
        let mut medians = Self::default();
        loop {
            let rows: Vec<Row> = columns.iter_mut().filter_map(Iterator::next).collect();
            let Some(first) = rows.first() else { return Ok(medians) };
            let key = |row: &Row| [&row.table, &row.name, &row.set].map(String::clone);
            if rows.len() != columns.len() || rows.iter().any(|row| key(row) != key(first)) {
                return Err(String::from("not each process has measured the same"));
            }
            let figure = median(rows.iter().map(|row| row.figure).collect());
            let spread =
                first.spread.map(|_| median(rows.iter().filter_map(|row| row.spread).collect()));
            medians.rows.extend(rows.into_iter().next().map(|row| Row { figure, spread, ..row }));
        }
    }

    pub(crate) fn into_rows(self) -> impl Iterator<Item = Row> {
        self.rows.into_iter()
    }

    /// The parts of each line of conditions.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Vec<&str>> {
        self.conditions.iter().map(|line| line.split('|').map(str::trim).collect())
    }

    pub(crate) fn of(&self, table: &str, set: &str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.table == table && row.set == set)
    }

    pub(crate) fn find(&self, table: &str, name: &str, set: &str) -> Option<f64> {
        self.of(table, set).find(|row| row.name == name).map(|row| row.figure)
    }

    pub(crate) fn get(&self, table: &str, name: &str, set: &str) -> Result<f64, String> {
        self.find(table, name, set).ok_or(format!("\"{table}\" has no \"{name}\" of {set}"))
    }

    /// The rival that is the fastest or smallest.
    pub(crate) fn best(&self, table: &str, set: &str) -> Option<&Row> {
        let rivals = self.of(table, set).filter(|row| row.role == Role::Rival);
        rivals.min_by(|one, other| one.figure.total_cmp(&other.figure))
    }

    /// The spreads of the rivals' rows in a section, in order: what is noise there.
    pub(crate) fn spreads(&self, section: &str) -> Vec<f64> {
        let rivals = self.rows.iter().filter(|row| row.role == Role::Rival);
        let of_section = rivals.filter(|row| section_of(&row.table, ':') == section);
        let mut spreads: Vec<f64> = of_section.filter_map(|row| row.spread).collect();
        spreads.sort_by(f64::total_cmp);
        spreads
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn section_of(text: &str, end: char) -> &str {
    text.split(end).next().unwrap_or_default().trim()
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.conditions.iter().try_for_each(|line| writeln!(f, "# {line}"))?;
        writeln!(f, "{HEAD}")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, name, role, set, figure, spread } = self;
        let role = Role::NAMES.iter().find(|(it, _)| it == role).map_or("", |(_, name)| name);
        write!(f, "\"{table}\",\"{name}\",\"{set}\",{role},{figure:.4},")?;
        spread.map_or(Ok(()), |spread| write!(f, "{spread:.3}"))
    }
}

impl Row {
    /// Table, row and set are in quotation marks and may have commas; the other fields have neither.
    fn parse(line: &str) -> Option<Self> {
        let (table, rest) = line.strip_prefix('"')?.split_once("\",\"")?;
        let (name, rest) = rest.split_once("\",\"")?;
        let (set, rest) = rest.split_once("\",")?;
        let [role, figure, spread] = rest.split(',').collect::<Vec<_>>()[..] else { return None };
        let [table, name, set] = [table, name, set].map(str::to_owned);
        let role = Role::NAMES.iter().find(|(_, name)| *name == role)?.0;
        let spread = if spread.is_empty() { None } else { Some(spread.parse().ok()?) };
        Some(Self { table, name, role, set, figure: figure.parse().ok()?, spread })
    }
}
