//! The command line.

pub(crate) const USAGE: &str = "\
usage: persist-benches [--csv] [--rounds N] [--set NAME]...
  --csv       figures for programs instead of tables
  --rounds N  batches of each contender; 31 if not given, 11 for graph and first
  --set NAME  log, mesh, minecraft_savedata, mk48, added, older, first or graph; all if not given";

const SETS: [&str; 8] =
    ["log", "mesh", "minecraft_savedata", "mk48", "added", "older", "first", "graph"];

pub(crate) struct Options {
    pub(crate) csv: bool,
    pub(crate) rounds: Option<u32>,
    pub(crate) sets: Vec<&'static str>,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { csv: false, rounds: None, sets: Vec::new() };
        while let Some(argument) = arguments.next() {
            let mut operand = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--csv" => options.csv = true,
                "--rounds" => {
                    let rounds = operand()?;
                    let parsed = rounds.parse().ok().filter(|&rounds| rounds > 0);
                    let parsed = parsed.ok_or(format!("{rounds} is no number of rounds"))?;
                    options.rounds = Some(parsed);
                }
                "--set" => {
                    let name = operand()?;
                    let set = SETS.into_iter().find(|set| *set == name);
                    options.sets.push(set.ok_or(format!("there is no data set {name}"))?);
                }
                // Cargo adds it to what it runs as a benchmark.
                "--bench" => {}
                _ => return Err(format!("{argument} is not an option")),
            }
        }
        if options.sets.is_empty() {
            options.sets = SETS.to_vec();
        }
        Ok(options)
    }
}
