//! Each cure that the lock prints, applied to the program that it is printed for: it compiles, and the lock is then
//! satisfied.

#![allow(
    unreachable_pub,
    reason = "the programs are written as elsewhere, where nothing of a module is outside of it"
)]

mod cases;
mod mended;
mod paste;
mod programs;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use persist::save::Registry;
use persist_tools::lock::{Difference, LockReport, Verdict};

use self::cases::{CASES, Case, Cure};
use self::paste::Source;
use super::lock_of;

/// Programs, each with what it registers: `after { register |registry| { .. } .. }` below the name of a case.
macro_rules! sources {
    ($($case:ident { $($module:ident { register |$registry:ident| $register:block $($item:item)* })* })*) => {
        $(mod $case {
            $(pub(super) mod $module {
                #![allow(unused_imports, reason = "not every program needs all of the file")]
                #![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]
                use super::super::*;

                $($item)*

                pub(crate) fn register($registry: &mut persist::save::Registry) -> persist::Result<()> {
                    $register
                    Ok(())
                }
            })*
        })*

        /// The registry of a program.
        pub(super) fn registry(case: &str, module: &str) -> Option<persist::save::Registry> {
            let register: fn(&mut persist::save::Registry) -> persist::Result<()> = match (case, module) {
                $($((stringify!($case), stringify!($module)) => $case::$module::register,)*)*
                _ => return None,
            };
            let mut registry = persist::save::Registry::new();
            register(&mut registry).unwrap();
            Some(registry)
        }
    };
}

use sources;

/// The programs of the cases, in which lines are pasted.
const PROGRAMS: &str = include_str!("programs.rs");

const MENDED: &str = "lock/cures/mended.rs";

fn program(case: &Case, module: &str) -> Registry {
    let found = programs::registry(case.name, module);
    found.unwrap_or_else(|| panic!("no program {module} of {}", case.name))
}

/// What the lock of the versions of a case says of a program.
fn report(case: &Case, program: &Registry) -> LockReport {
    let versions = ["before", "between"].into_iter();
    let locked: Vec<_> =
        versions.filter_map(|module| programs::registry(case.name, module)).collect();
    lock_of(&locked).compare(program)
}

/// The attributes and registrations in a sentence.
fn named(text: &str) -> BTreeSet<&str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| span.starts_with("#[persist(") || span.starts_with("registry.")).collect()
}

/// The program with the lines of a cure in it, unless it is mended by hand.
fn mended(case: &Case, report: &LockReport, cure: &Cure) -> Option<String> {
    let mut source = Source::new(PROGRAMS, case.name);
    match cure {
        Cure::Printed => {
            for found in report.differences() {
                source.paste(found);
            }
        }
        Cure::Named(_, lines) => {
            for (attribute, above) in *lines {
                // What a sentence only calls an `alias` belongs to the worst difference, which is the first.
                let is_of = |it: &&Difference| {
                    it.change.contains(attribute) || it.attribute.as_deref() == Some(attribute)
                };
                let all = report.differences();
                let found = all.iter().find(is_of).or(all.first()).expect("a difference");
                source.line(found, attribute, above);
            }
        }
        Cure::ByHand(..) => return None,
    }
    Some(source.finish())
}

/// The modules of the mended programs, in the order of the cases.
fn all_mended() -> String {
    let mut text = String::from(
        "//! What becomes of the programs with the lines that the lock prints: written by a test, with\n//! `INSTA_UPDATE=always cargo test -p persist-tests --test lock cures`.\n\n#![allow(unused_imports, reason = \"they are those of the programs\")]\n#![cfg_attr(rustfmt, rustfmt_skip)]\n\nuse std::cell::RefCell;\nuse std::collections::{BTreeMap, BTreeSet, HashMap};\nuse std::rc::Rc;\n\nuse persist::Persist;\n\nuse super::sources;\n\nsources! {\n",
    );
    for case in CASES {
        let report = report(case, &program(case, "after"));
        let modules: Vec<String> = case
            .cures
            .iter()
            .enumerate()
            .filter_map(|(i, cure)| {
                let body = mended(case, &report, cure)?;
                Some(format!("        {} {{\n{body}        }}\n", module(i, cure)))
            })
            .collect();
        if !modules.is_empty() {
            writeln!(text, "    {} {{\n{}    }}", case.name, modules.concat()).unwrap();
        }
    }
    text + "}\n"
}

/// The name of the module with a cure.
fn module(index: usize, cure: &Cure) -> String {
    match cure {
        Cure::Printed => "printed".to_owned(),
        Cure::Named(..) => format!("named_{index}"),
        Cure::ByHand(_, module) => (*module).to_owned(),
    }
}

#[test]
fn the_mended_programs_have_the_lines_that_the_lock_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(MENDED);
    let (written, now) = (std::fs::read_to_string(&path).unwrap(), all_mended());
    // As with snapshots: reviewed, and never written by CI.
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &now).unwrap();
    }
    assert!(written == now, "run this test with INSTA_UPDATE=always, and review {MENDED}:\n{now}");
}

#[test]
fn each_cure_satisfies_the_lock() {
    let mut faults = Vec::new();
    for case in CASES {
        let before = report(case, &program(case, "after"));
        let said = before.to_string();
        for (i, cure) in case.cures.iter().enumerate() {
            let name = module(i, cure);
            let mended = match cure {
                Cure::ByHand(..) => Some(program(case, &name)),
                _ => mended::registry(case.name, &name),
            };
            if let Cure::Named(quote, _) | Cure::ByHand(quote, _) = cure
                && !said.contains(quote)
            {
                faults.push(format!("{}: not printed: {quote}\n{said}", case.name));
            }
            let Some(mended) = mended else {
                faults.push(format!("{}: {MENDED} has no {name}", case.name));
                continue;
            };
            let report = report(case, &mended);
            if !report.loads() {
                faults.push(format!(
                    "{}, {name}: the lock is not satisfied:\n{report}\nbefore that:\n{said}",
                    case.name
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n----\n"));
}

#[test]
fn each_attribute_that_a_case_names_is_applied_in_a_cure() {
    let mut faults = Vec::new();
    for case in CASES {
        let report = report(case, &program(case, "after"));
        assert!(!report.loads() || case.is_safe, "{}: {report}", case.name);
        let mut applied = BTreeSet::new();
        for cure in case.cures {
            match cure {
                Cure::Printed => {
                    applied.extend(
                        report.differences().iter().filter_map(|it| it.attribute.as_deref()),
                    );
                }
                Cure::Named(quote, lines) => {
                    applied.extend(named(quote));
                    applied.extend(lines.iter().map(|(attribute, _)| *attribute));
                }
                Cure::ByHand(quote, _) => applied.extend(named(quote)),
            }
        }
        let attributes = report.differences().iter().filter(|it| it.verdict > Verdict::Untested);
        let attributes = attributes.filter_map(|it| it.attribute.as_deref());
        let sentences = report.differences().iter().flat_map(|it| named(&it.change));
        let missing = sentences.chain(attributes).filter(|it| !applied.contains(it));
        faults.extend(missing.map(|it| format!("{}: {it}", case.name)));
    }
    assert!(faults.is_empty(), "not applied:\n{}", faults.join("\n"));
}

#[test]
fn the_reports_of_the_cases() {
    let mut text = String::new();
    for case in CASES {
        let report = report(case, &program(case, "after")).to_string();
        let report: String =
            report.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect();
        write!(text, "{}\n\n{report}\n", case.name).unwrap();
    }
    insta::assert_snapshot!(text);
}
