//! Samples that the program's own code refuses: what that says of old saves, and what it hides no more.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use persist::Record;
use persist::save::Registry;
use persist_tools::lock::Verdict;

use super::{bad, locked, registry, report};

versions! {
    first {
        pub(super) struct Hero { name: String, bag: Option<Bag> }
        pub(super) struct Bag { size: u8 }
    }
    refused {
        #[persist(version = 2, migrate(1 = refuses))]
        pub(super) struct Hero { name: String, bag: Option<Bag> }
        pub(super) struct Bag { size: u8 }
    }
    refused_inside {
        pub(super) struct Hero { name: String, bag: Option<Bag> }
        #[persist(version = 2, migrate(1 = refuses))]
        pub(super) struct Bag { size: u8 }
    }
    refused_for_its_value {
        #[persist(version = 2, migrate(1 = refuses_names))]
        pub(super) struct Hero { name: String, bag: Option<Bag> }
        pub(super) struct Bag { size: u8 }
    }
    panicking {
        #[persist(version = 2, migrate(1 = panics))]
        pub(super) struct Hero { name: String, bag: Option<Bag> }
        pub(super) struct Bag { size: u8 }
    }
    panicking_on_the_largest {
        pub(super) struct Hero { name: String, bag: Option<Bag> }
        #[persist(version = 2, migrate(1 = doubles))]
        pub(super) struct Bag { size: u8 }
    }
    never_converted {
        pub(super) struct Hero { #[persist(convert = converts_never)] name: u32, bag: Option<Bag> }
        pub(super) struct Bag { size: u8 }
    }
}

fn refuses(_: &mut Record, _: u32) -> Result<(), String> {
    Err("not yet".into())
}

fn refuses_names(record: &mut Record, _: u32) -> Result<(), String> {
    let name = record.get("name").and_then(persist::Value::as_text).unwrap_or_default();
    Err(format!("nobody is called {name:?}"))
}

fn panics(record: &mut Record, _: u32) {
    let gone = record.take("gone").expect("every hero has one");
    record.set("name", gone);
}

fn doubles(record: &mut Record, _: u32) {
    let size = record.get("size").and_then(persist::Value::as_u64).unwrap_or_default();
    let size = u8::try_from(size).unwrap().checked_mul(2).expect("a bag is small");
    record.set("size", size);
}

fn converts_never(_: String) -> Result<u32, String> {
    Err("not yet".into())
}

/// The lock was green: the refusal of a sample was a note, and no old save loaded.
#[test]
fn a_migration_that_always_refuses_breaks() {
    let always = report::<first::Hero, refused::Hero>();
    assert_eq!(bad(&always), ["breaks: Hero"], "{always}");
    insta::assert_snapshot!(always.to_string());
    let inside = report::<first::Hero, refused_inside::Hero>();
    assert_eq!(bad(&inside), ["breaks: Hero.bag"], "{inside}");
    let convert = report::<first::Hero, never_converted::Hero>();
    assert_eq!(bad(&convert), ["breaks: Hero.name"], "{convert}");
}

#[test]
fn a_class_of_which_no_sample_loads_fails_the_test() {
    let report = report::<first::Hero, refused_for_its_value::Hero>();
    assert!(bad(&report).is_empty() && !report.loads(), "{report}");
    assert_eq!(report.not_tested().collect::<Vec<_>>(), ["Hero", "Bag"]);
    insta::assert_snapshot!(report.to_string());
}

/// The test ended with the bare panic.
#[test]
fn a_migration_that_panics_is_named_with_its_sample() {
    let always = report::<first::Hero, panicking::Hero>();
    assert_eq!(bad(&always), ["breaks: Hero"], "{always}");
    insta::assert_snapshot!(always.to_string());
    let largest = report::<first::Hero, panicking_on_the_largest::Hero>();
    assert_eq!(bad(&largest), ["breaks: Hero"], "{largest}");
    assert!(largest.to_string().contains("Bag.size = 255"), "{largest}");
}

#[derive(Debug, Default)]
pub(super) struct Email(String);

impl From<&Email> for String {
    fn from(email: &Email) -> Self {
        email.0.clone()
    }
}

impl TryFrom<String> for Email {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.contains('@') { Ok(Self(text)) } else { Err(format!("{text:?} has no @")) }
    }
}

fn an_email() -> Email {
    Email("ada@example.com".to_owned())
}

fn no_email() -> Email {
    Email("ada".to_owned())
}

struct Emails;

impl Emails {
    fn some() -> Vec<Email> {
        vec![an_email()]
    }
}

mod plain_email {
    use super::Email;

    pub(super) type Stored = String;

    pub(super) fn store(email: &Email) -> &String {
        &email.0
    }

    pub(super) fn restore(text: Stored) -> Result<Email, String> {
        Email::try_from(text)
    }
}

versions! {
    with_email {
        pub(super) struct User { #[persist(via = "String")] email: Email, age: u8 }
        pub(super) struct Account { user: Option<Rc<RefCell<User>>> }
    }
    with_email_and_more {
        pub(super) struct User { #[persist(via = "String")] email: Email, age: u16, #[persist(default)] more: u8 }
        pub(super) struct Account { user: Option<Rc<RefCell<User>>> }
    }
    with_email_and_refusal {
        #[persist(version = 2, migrate(1 = refuses))]
        pub(super) struct User { #[persist(via = "String")] email: Email, age: u8 }
        pub(super) struct Account { user: Option<Rc<RefCell<User>>> }
    }
    with_email_sample {
        pub(super) struct User { #[persist(via = "String", sample = an_email)] email: Email, age: u8 }
        pub(super) struct Account { user: Option<Rc<RefCell<User>>> }
    }
    with_email_sample_and_more {
        pub(super) struct User {
            #[persist(via = "String", sample = an_email)] email: Email, age: u16,
            #[persist(default, with = "Vec<plain_email>", sample = Emails::some)] more: Vec<Email>
        }
        pub(super) struct Account { user: Option<Rc<RefCell<User>>> }
    }
    with_wrong_sample {
        pub(super) struct User { #[persist(via = "String", sample = no_email)] email: Email, age: u8 }
        pub(super) struct Account { user: Option<Rc<RefCell<User>>> }
    }
    email_as_text {
        pub(super) struct User { email: String, age: u8 }
        pub(super) struct Account { user: Option<Rc<RefCell<User>>> }
    }
}

/// A type that checks its content refuses what the library makes up, whatever changed.
#[test]
fn a_type_that_checks_its_content_is_a_note() {
    let same = report::<with_email::Account, with_email::Account>();
    assert!(same.loads(), "{same}");
    assert_eq!(same.not_tested().collect::<Vec<_>>(), ["User"], "{same}");
    insta::assert_snapshot!(same.to_string());
    let more = report::<with_email::Account, with_email_and_more::Account>();
    assert!(more.loads() && bad(&more).is_empty(), "{more}");
    let text = report::<email_as_text::Account, with_email::Account>();
    assert!(bad(&text).is_empty(), "{text}");
    // What a change refuses is no check of the content.
    let refusal = report::<with_email::Account, with_email_and_refusal::Account>();
    assert_eq!(bad(&refusal), ["breaks: User"], "{refusal}");
}

#[test]
fn a_type_that_checks_its_content_is_tested_by_the_sample_that_the_program_gives() {
    for program in [
        report::<with_email::Account, with_email_sample::Account>(),
        report::<with_email_sample::Account, with_email_sample_and_more::Account>(),
        report::<with_email_sample_and_more::Account, with_email_sample_and_more::Account>(),
        report::<email_as_text::Account, with_email_sample::Account>(),
    ] {
        assert!(program.loads(), "{program}");
        assert_eq!(program.not_tested().count(), 0, "{program}");
        assert!(program.notes().is_empty(), "{program}");
        assert!(
            program.differences().iter().all(|it| it.verdict == Verdict::Safe),
            "nothing is untested: {program}"
        );
    }
    // What a migration refuses is not hidden any more.
    let wrong = report::<with_email::Account, with_wrong_sample::Account>();
    assert_eq!(wrong.not_tested().collect::<Vec<_>>(), ["User"], "{wrong}");
}

pub(super) struct Names(Vec<String>);

mod named {
    pub(super) type Stored = String;

    pub(super) fn store<'n>(item: &usize, names: &'n super::Names) -> &'n String {
        &names.0[*item]
    }

    #[expect(clippy::needless_pass_by_value, reason = "a module takes what is stored")]
    pub(super) fn restore(name: Stored, names: &super::Names) -> Result<usize, String> {
        names.0.iter().position(|known| *known == name).ok_or(format!("there is no {name}"))
    }
}

versions! {
    in_context {
        pub(super) struct Hero { #[persist(with = "Option<named>", context = Names)] worn: Option<usize>, level: u8 }
    }
    in_required_context {
        pub(super) struct Hero { #[persist(with = named, context = Names)] worn: usize, level: u8 }
    }
}

#[test]
fn a_context_that_is_missing_is_named() {
    let report = |then: &Registry, now: &Registry| locked(then).compare(now);
    let mut now = registry::<in_required_context::Hero>();
    let missing = report(&now, &now);
    assert!(!missing.loads(), "{missing}");
    insta::assert_snapshot!(missing.to_string());
    now.set_context(Arc::new(Names(vec!["a".into(), "b".into()])));
    let there = report(&now, &now);
    assert!(there.loads() && there.not_tested().next().is_none(), "{there}");
}

versions! {
    many {
        pub(super) struct Hero { hp: u16, name: String, mood: Mood, gone: u8, list: Vec<u8> }
        pub(super) enum Mood { Calm, Angry }
    }
    many_changed {
        #[persist(removed = "gone")]
        #[persist(validate = never_valid, after_load = never_ready, context = Names)]
        pub(super) struct Hero {
            #[persist(alias = "hp")] health: u32,
            name: Option<String>,
            mood: Mood,
            list: std::collections::VecDeque<u16>,
            #[persist(default)] new: u8,
        }
        pub(super) enum Mood { Calm, Angry, Sad }
    }
    many_broken {
        #[persist(validate = never_valid_either)]
        pub(super) struct Hero { hp: u8, name: String, mood: Mood, gone: u8, list: Vec<u8> }
        pub(super) enum Mood { Calm, Angry }
    }
}

fn never_valid(_: &many_changed::Hero, _: &Names) -> Result<(), String> {
    Err("never".into())
}

fn never_ready(_: &mut many_changed::Hero, _: &Names) {
    panic!("never ready");
}

fn never_valid_either(_: &many_broken::Hero) -> Result<(), String> {
    Err("never".into())
}

/// One `validate` made nine rows *untested*, and the test stayed green.
#[test]
fn hooks_hide_nothing_of_a_class() {
    let missing = report::<many::Hero, many_changed::Hero>();
    assert!(missing.loads() && missing.not_tested().next().is_none(), "{missing}");
    insta::assert_snapshot!(missing.to_string());
    let mut now = registry::<many_changed::Hero>();
    now.set_context(Arc::new(Names(Vec::new())));
    let refused = locked(&registry::<many::Hero>()).compare(&now);
    assert!(refused.loads() && refused.to_string().contains("refused: never"), "{refused}");
    let broken = report::<many::Hero, many_broken::Hero>();
    assert_eq!(bad(&broken), ["breaks: Hero.hp"], "{broken}");
}

mod trait_before {
    #[persist::dynamic(name = "Item")]
    pub(super) trait Item {}

    #[derive(persist::Persist)]
    pub(super) struct Sword {
        pub(super) sharp: u8,
    }

    impl Item for Sword {}

    #[derive(persist::Persist)]
    pub(super) struct Bag {
        items: Vec<Box<dyn Item>>,
    }
}

mod trait_after {
    #[persist::dynamic(name = "Thing")]
    pub(super) trait Thing {}

    #[derive(persist::Persist)]
    pub(super) struct Sword {
        pub(super) sharp: u8,
    }

    impl Thing for Sword {}

    #[derive(persist::Persist)]
    pub(super) struct Bag {
        items: Vec<Box<dyn Thing>>,
    }

    #[derive(persist::Persist)]
    #[persist(validate = Strict::check)]
    pub(super) struct Strict {
        level: u8,
    }

    impl Strict {
        fn check(&self) -> Result<(), String> {
            Err("never".into())
        }
    }
}

/// The name of a trait that no field refers to any more was *breaks* if any sample was refused.
#[test]
fn a_renamed_trait_is_safe_where_its_holders_load() {
    let program = |strict: bool| {
        let mut now = registry::<trait_after::Bag>();
        now.register_as::<trait_after::Sword, dyn trait_after::Thing>().unwrap();
        if strict {
            now.register::<trait_after::Strict>().unwrap();
        }
        now
    };
    let mut then = registry::<trait_before::Bag>();
    then.register_as::<trait_before::Sword, dyn trait_before::Item>().unwrap();
    then.register::<trait_after::Strict>().unwrap();
    let plain = locked(&then).compare(&program(false));
    let strict = locked(&then).compare(&program(true));
    assert_eq!(bad(&plain), bad(&strict), "{plain}\n{strict}");
}
