//! The picture: for each job a bar of persist and one of the fastest rival, which is 1.
//!
//! It needs the standard library alone, so that the library's own tests can draw it too and compare.

use super::figures::Figures;
use super::jobs::{JOBS, Job, Measured};
use super::wrapped;

const WIDTH: f64 = 880.0;
/// Where the bars of saves and of loads begin.
const PANELS: [(f64, &str); 2] = [(238.0, "save"), (562.0, "load")];
const TOP: f64 = 106.0;
const ROW: f64 = 46.0;
/// The length of a bar of ratio 1, and the highest ratio that is drawn in full.
const UNIT: f64 = 46.0;
const MAX: f64 = 2.5;

/// Every colour has a medium brightness, so that it can be read on white and on black. The background of the reader's
/// page shows through, and its colour may differ from the one of the system.
const STYLE: &str = "\
text { font: 12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #737b85 }
.strong { font-weight: 600; font-size: 13px }
.head { font-weight: 600; font-size: 15px }
.ours { fill: #3a7bd5 }
.added { fill: #3a7bd5; opacity: 0.5 }
.rival { fill: #8b949e; opacity: 0.7 }
.line { stroke: #8b949e; opacity: 0.5 }
.one { stroke: #737b85; stroke-dasharray: 3 3 }
.cut { stroke: #3a7bd5; stroke-width: 2.5; fill: none }";

const NOTES: [&str; 2] = [
    "Parts, older save, graphs, world: persist's bars include schema and checksums. Of the rivals on an older save only savefile loads it.",
    "fory's graph with cycles has weak pointers. hecs has a name for each object, but no order, tree or unique names.",
];

/// The longest line of the foot, in letters.
const LINE: usize = 130;

/// The picture as SVG. Jobs that were not measured are left out.
pub(crate) fn draw(figures: &Figures) -> String {
    let mut picture = Picture::default();
    picture.head();
    let mut foot = TOP;
    for job in &JOBS {
        if picture.job(foot, job, figures).is_ok() {
            foot += ROW;
        }
    }
    picture.lines(foot);
    let mut notes: Vec<String> = NOTES.map(str::to_owned).into();
    for condition in figures.conditions() {
        match condition[..] {
            ["rivals", versions] => notes.extend(wrapped(versions, LINE)),
            ["values", date, _, machine] => {
                notes.extend(wrapped(&format!("{date}, {machine}"), LINE));
            }
            _ => {}
        }
    }
    for note in &notes {
        foot += 17.0;
        picture.text(10.0, foot + 4.0, "", note);
    }
    picture.finish(foot + 16.0)
}

/// The elements, and the sentences for those who do not see them.
#[derive(Default)]
struct Picture {
    elements: Vec<String>,
    described: Vec<String>,
}

impl Picture {
    fn head(&mut self) {
        let title = "Time to save and to load, relative to the fastest rival (shorter is better)";
        self.text(10.0, 24.0, "head", title);
        let legend = [
            (10.0, "ours", "persist"),
            (92.0, "rival", "fastest rival"),
            (
                PANELS[0].0,
                "added",
                "with persist's schema and checksums (ratio in brackets); rivals without",
            ),
        ];
        for (x, class, text) in legend {
            self.bar(x, 41.0, 14.0, 12.0, class);
            self.text(x + 20.0, 51.0, "", text);
        }
        for (x, name) in PANELS {
            self.text(x, TOP - 16.0, "strong", name);
            for ratio in [1_u32, 2] {
                let x = x + UNIT * f64::from(ratio);
                self.text(x - 6.0, TOP - 16.0, "", &format!("{ratio}×"));
            }
        }
    }

    /// Draws the axes over the bars. The axis at 1 crosses no number.
    fn lines(&mut self, foot: f64) {
        for (x, _) in PANELS {
            for (ratio, class) in [(0.0, "line"), (1.0, "one")] {
                let x = x + UNIT * ratio;
                let (top, foot) = (TOP - 10.0, foot - 8.0);
                let line = format!(r#"<path class="{class}" d="M{x:.1} {top:.1}V{foot:.1}"/>"#);
                self.elements.push(line);
            }
        }
    }

    /// Draws nothing if a figure was not measured.
    fn job(&mut self, y: f64, job: &Job, figures: &Figures) -> Result<(), String> {
        let detail = job.detail(figures)?;
        let save = job.save.as_ref().map(|step| step.measured(figures)).transpose()?;
        let steps = [save, Some(job.load.measured(figures)?)];
        self.text(10.0, y + 12.0, "strong", job.title);
        self.text(10.0, y + 28.0, "", &detail);
        let mut sentence = format!("{} ({detail}):", job.title);
        let whats = [job.save.as_ref().map_or("", |step| step.what), job.load.what];
        for (((x, name), measured), what) in PANELS.into_iter().zip(steps).zip(whats) {
            let Some(measured) = measured else {
                self.text(x + UNIT + 6.0, y + 12.0, "", "as any save");
                continue;
            };
            self.pair(x, y, &measured, what);
            let (rival, numbers) = (measured.rival, numbers(&measured));
            let what = if what.is_empty() { name } else { what.trim_end_matches(": ") };
            sentence += &format!(" {what} {numbers} the time of {rival};");
        }
        self.described.push(sentence);
        Ok(())
    }

    fn pair(&mut self, x: f64, y: f64, measured: &Measured<'_>, what: &str) {
        let Measured { bare, whole, best, rival } = measured;
        let length = |time: f64| UNIT * (time / best).min(MAX);
        let longest = whole.unwrap_or(*bare);
        self.bar(x, y, length(longest), 15.0, if whole.is_some() { "added" } else { "ours" });
        if whole.is_some() {
            self.bar(x, y, length(*bare), 15.0, "ours");
        }
        if longest / best > MAX {
            let x = x + UNIT * MAX + 3.0;
            let arrow = format!(r#"<path class="cut" d="M{x:.1} {:.1}l5 5.5l-5 5.5"/>"#, y + 2.0);
            self.elements.push(arrow);
        }
        // After the line at 1, and after the arrow of a bar that is cut.
        let end = x + length(longest).max(UNIT) + if longest / best > MAX { 16.0 } else { 6.0 };
        let ours = format!("{what}{}, {}", millis(*bare), numbers(measured));
        self.text(end, y + 12.0, "strong", &ours);
        self.bar(x, y + 19.0, UNIT, 11.0, "rival");
        self.text(x + UNIT + 6.0, y + 29.0, "", &format!("{rival} {}", millis(*best)));
    }

    fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        let size = format!(r#"x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}""#);
        self.elements.push(format!(r#"<rect class="{class}" {size}/>"#));
    }

    fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let text = escaped(text);
        self.elements.push(format!(r#"<text{class} x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    fn finish(self, height: f64) -> String {
        let (elements, described) = (self.elements.join("\n"), escaped(&self.described.join("\n")));
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-labelledby="title described">
<title id="title">How long persist takes to save and to load, beside the fastest rival of each job</title>
<desc id="described">
{described}
</desc>
<style>
{STYLE}
</style>
{elements}
</svg>
"#
        )
    }
}

/// The ratio to the rival, and in brackets that of the whole save.
fn numbers(measured: &Measured<'_>) -> String {
    let Measured { bare, whole, best, .. } = measured;
    let bare = ratio(bare / best);
    whole.map_or(bare.clone(), |whole| format!("{bare} ({})", ratio(whole / best)))
}

fn ratio(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}×") } else { format!("{ratio:.0}×") }
}

/// Two digits that count.
fn millis(time: f64) -> String {
    match time {
        ..1.0 => format!("{time:.2} ms"),
        ..10.0 => format!("{time:.1} ms"),
        1000.0.. => format!("{:.1} s", time / 1000.0),
        _ => format!("{time:.0} ms"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
