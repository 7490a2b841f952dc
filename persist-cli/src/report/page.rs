//! The page as one file: style, modules and data in the document.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Report;
use crate::exit::{Failure, Result};
use crate::output::bytes;

const DOCUMENT: &str = include_str!("../../page/index.html");
const STYLE: &str = include_str!("../../page/style.css");

macro_rules! modules {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("../../page/", $name, ".js")))),*] };
}

/// The modules of the page. Each comes after those that it imports.
const MODULES: [(&str, &str); 22] = modules! {
    "dom" "format" "path" "value" "rows" "squarify" "theme" "save" "search" "inspector" "overview" "treemap"
    "layout" "canvas" "picture" "graph" "condition" "csv" "table" "compare" "timeline" "main"
};

/// The tags of the document that the contents of files replace.
const STYLE_TAG: &str = "<link rel=\"stylesheet\" href=\"style.css\">";
const SCRIPT_TAG: &str = "<script type=\"module\" src=\"main.js\"></script>";

/// More data than this is not one string of a browser.
const MAX_DATA: usize = 400 << 20;

/// Makes the page.
pub(crate) fn page(report: &mut Report) -> Result<String> {
    let script = script();
    let mut data = String::new();
    let tables: Vec<_> =
        report.saves.iter_mut().map(|save| std::mem::take(&mut save.tables)).collect();
    for (save, tables) in tables.iter().enumerate() {
        for (class, table) in tables.iter().enumerate() {
            add_data(&mut data, &format!("table-{save}-{class}"), table)?;
        }
    }
    add_data(&mut data, "report", report)?;
    for (save, tables) in report.saves.iter_mut().zip(tables) {
        save.tables = tables;
    }
    if data.len() > MAX_DATA {
        let (size, max) = (bytes(data.len() as u64), bytes(MAX_DATA as u64));
        return Err(Failure::new(format!(
            "the page would have {size} of data, browsers open at most {max}; leave out `--all`"
        )));
    }
    // Nothing runs, shows or connects but what is in this file: a save that smuggled in markup would still do nothing.
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src '{}'; \
         worker-src blob:; base-uri 'none'; form-action 'none'\">",
        hash(&script),
        hash(STYLE)
    );
    let style = format!("{policy}\n<style>{STYLE}</style>");
    let script = format!("{data}<script type=\"module\">{script}</script>");
    Ok(DOCUMENT.replacen(STYLE_TAG, &style, 1).replacen(SCRIPT_TAG, &script, 1))
}

/// The modules as one script: each is a function that returns what it exports.
///
/// A page from disk may not load modules from other files. The modules are written for this: an import is one line, and
/// `export` begins a line.
fn script() -> String {
    let mut script = String::from("const modules = {};\n");
    for (name, module) in MODULES {
        let mut exports = Vec::new();
        script.push_str(&format!("modules.{name} = (() => {{\n"));
        for line in module.lines() {
            let import =
                line.strip_prefix("import ").and_then(|import| import.split_once(" from './"));
            if let Some((names, file)) = import {
                let file = file.trim_end_matches("';").trim_end_matches(".js");
                script.push_str(&format!("const {names} = modules.{file};\n"));
                continue;
            }
            let exported = line.strip_prefix("export ");
            exports.extend(exported.and_then(exported_name));
            script.push_str(exported.unwrap_or(line));
            script.push('\n');
        }
        script.push_str(&format!("return {{ {} }};\n}})();\n", exports.join(", ")));
    }
    script
}

/// The name in `async function name(..`, `class Name {`, `const name = ..`.
fn exported_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let (_, name) = line.split_once(' ')?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Adds data as an element that a browser does not read as markup or code.
fn add_data(page: &mut String, id: &str, data: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(data)?;
    page.push_str(&format!("<script type=\"application/json\" id=\"{id}\">"));
    // Within strings alone: JSON has none of these elsewhere.
    for c in json.chars() {
        match c {
            '<' => page.push_str("\\u003c"),
            '\u{2028}' => page.push_str("\\u2028"),
            '\u{2029}' => page.push_str("\\u2029"),
            c => page.push(c),
        }
    }
    page.push_str("</script>\n");
    Ok(())
}

/// A hash as policies have it.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text)))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            let is_padding = digit > chunk.len();
            text.push(if is_padding { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    text
}
