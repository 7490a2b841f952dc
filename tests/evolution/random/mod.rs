//! Random edits of a program's schema, singly and in any combination, against a naive twin:
//! values that must survive do, the report says what was done, and no load gives a wrong value.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod edits;
mod model;
mod pairing;
mod program;
mod twin;
mod values;

use edits::{Edit, Edits, How};
use model::{Kind, Schema};
use persist::save::LoadReport;
use persist::{LoadOptions, SaveManager, Saves};
use persist_tests::support::forge;
use persist_tests::support::short_or_long;
use program::{World, program};
use proptest::prelude::{ProptestConfig, any, proptest};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use twin::{Findings, Twin};

fn manager(options: LoadOptions) -> SaveManager {
    let saves = Saves::new().load_options(options);
    saves.register::<World>().unwrap();
    saves.manager()
}

/// Loads a `World`, as text, with the report.
fn load(save: &[u8], options: LoadOptions, holder: u8) -> persist::Result<(String, LoadReport)> {
    let manager = manager(options);
    if holder == forge::VALUE {
        let loaded = manager.saves().from_slice::<World>(save)?;
        return Ok((format!("{:?}", *loaded), loaded.report().clone()));
    }
    let loaded = manager.from_slice(save)?;
    let world = loaded.first::<World>()?;
    let text = format!("{:?}", world.borrow());
    Ok((text, loaded.report().clone()))
}

fn findings(report: &LoadReport) -> Findings {
    let mut found = Findings::new();
    for finding in report.rows() {
        let field = finding.field.clone().unwrap_or_default();
        *found.entry((finding.event, finding.class.clone(), field)).or_insert(0) += finding.count;
    }
    found
}

/// An older save, and what is to come of it.
struct Case {
    options: LoadOptions,
    holder: u8,
    save: Vec<u8>,
    /// Of the program's own form.
    expected: Vec<u8>,
    findings: Findings,
    errors: Vec<persist::ErrorKind>,
    objects: u64,
}

fn case(seed: u64, program: &Schema) -> Case {
    let mut rng = Pcg64::seed_from_u64(seed);
    let options = LoadOptions::new().clamp(rng.r#gen()).drop_unknown(rng.gen_ratio(1, 4));
    let holder = if rng.r#gen() { forge::VALUE } else { forge::ADDED };
    let mut edits = Edits::new(rng, program);
    let schema = edits.schema();
    let root = Edit { stored: Kind::Class("World".into()), how: How::Class("World".into()) };
    let value = edits.value(&root, 0);
    let mut twin = Twin {
        edits: &edits,
        options,
        findings: Findings::new(),
        errors: Vec::new(),
        objects: 1,
        lasts: true,
    };
    let world = twin.world(&value);
    let Twin { findings, errors, objects, .. } = twin;
    let expected = match errors.is_empty() {
        true => program.save("World", &world, holder),
        false => Vec::new(),
    };
    let save = schema.save("World", &value, holder);
    Case { options, holder, save, expected, findings, errors, objects }
}

fn compare(seed: u64) -> bool {
    let Case { options, holder, save, expected, findings: wanted, errors, objects } =
        case(seed, &program());
    let loaded = load(&save, options, holder);
    if !errors.is_empty() {
        let error = loaded.map(drop).expect_err("what cannot be loaded");
        assert!(errors.contains(&error.kind()), "{error} of {errors:?}");
        assert!(error.class().is_some(), "{error}");
        return false;
    }
    let (found, report) = loaded.unwrap();
    let (text, clean) = load(&expected, LoadOptions::default(), holder).unwrap();
    assert_eq!(clean.rows(), [], "the twin's own save");
    assert_eq!(found, text);
    assert_eq!(findings(&report), wanted);
    if holder == forge::ADDED {
        assert_eq!(report.objects().map(|(_, count)| count).sum::<u64>(), objects);
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: short_or_long(64, 256), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_edits_come_out_as_the_twin_says(seed in any::<u64>()) {
        compare(seed);
    }
}

/// Those that went wrong once, and some for ever.
#[test]
fn chosen_edits_come_out_as_the_twin_says() {
    compare(15_835_984_835_882_634_440);
    let all = short_or_long(100, 300);
    let loaded = (0..all).filter(|seed| compare(*seed)).count();
    // Most can be loaded; some must not. A machine of 32 bits has other cases from the same seeds.
    assert!(loaded as u64 >= all / 2, "{loaded} of {all}");
    assert!((0..10_000).any(|seed| !compare(seed)), "nothing is refused");
}
