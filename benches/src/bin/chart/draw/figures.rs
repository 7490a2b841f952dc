//! What the benchmarks wrote.

/// The lines of `figures.csv`.
pub(super) struct Figures<'f> {
    /// What stands in comments: the versions of the rivals, and the machine.
    pub(super) conditions: Vec<&'f str>,
    rows: Vec<Row<'f>>,
}

struct Row<'f> {
    table: &'f str,
    name: &'f str,
    set: &'f str,
    figure: f64,
}

impl<'f> Figures<'f> {
    pub(super) fn parse(text: &'f str) -> Result<Self, String> {
        let mut figures = Self { conditions: Vec::new(), rows: Vec::new() };
        for line in text.lines() {
            if let Some(condition) = line.strip_prefix("# ") {
                figures.conditions.push(condition);
            } else if line != "table,row,set,figure,ratio" {
                let row = Row::parse(line).ok_or(format!("this line has no figure: {line}"))?;
                figures.rows.push(row);
            }
        }
        Ok(figures)
    }

    pub(super) fn get(&self, table: &str, name: &str, set: &str) -> Result<f64, String> {
        let is_wanted = |row: &&Row<'_>| (row.table, row.name, row.set) == (table, name, set);
        let row = self.rows.iter().find(is_wanted);
        row.map(|row| row.figure).ok_or(format!("\"{table}\" has no \"{name}\" of {set}"))
    }
}

impl<'f> Row<'f> {
    /// Tables and rows are in quotation marks and may have commas; the other fields have neither.
    fn parse(line: &'f str) -> Option<Self> {
        let (table, rest) = line.strip_prefix('"')?.split_once("\",\"")?;
        let (name, rest) = rest.split_once("\",")?;
        let (set, rest) = rest.split_once(',')?;
        let (figure, _ratio) = rest.split_once(',')?;
        Some(Self { table, name, set, figure: figure.parse().ok()? })
    }
}
