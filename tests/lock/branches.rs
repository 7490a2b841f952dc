//! Versions of branches: a lock after merges by git.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "the helpers are part of the tests"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use persist::save::Registry;
use persist::{ErrorKind, Persist, Record};
use persist_tests::support::registry;
use persist_tools::__private::{Mode, check_file};
use persist_tools::lock::{Lock, LockReport, Verdict};

/// Types of one class.
macro_rules! heroes {
    ($($(#[$attribute:meta])* $name:ident { $($fields:tt)* })*) => {
        $(
            #[derive(Persist)]
            #[persist(class = "Hero")]
            $(#[$attribute])*
            struct $name { $($fields)* }
        )*
    };
}

heroes! {
    Released { name: String }
    Main { name: String, #[persist(default)] level: u32 }
    Hotfix { name: String, #[persist(default)] mana: u32 }
    Console { name: String, #[persist(default)] seat: u8 }
    Joined {
        name: String, #[persist(default)] level: u32, #[persist(default)] mana: u32,
        #[persist(default)] seat: u8,
    }
    Cents { name: String, #[persist(default)] money: u32 }
    Gold { name: String, #[persist(default, convert = to_gold)] money: u64 }
    GoldAsIs { name: String, #[persist(default)] money: u64 }
    #[persist(removed = "mana")]
    WithoutMana { name: String }
    WideCents { name: String, #[persist(default)] money: u64 }
    RenamedMoney { name: String, #[persist(default, alias = "money")] cents: u64 }
    #[persist(version = 2)]
    GoldOfVersion { name: String, #[persist(default, convert(1 = wide_to_gold))] money: u64 }
    #[persist(version = 2)]
    GoldOfBoth {
        name: String,
        #[persist(default, alias = "cents", convert(1 = wide_to_gold))] money: u64,
    }
    #[persist(version = 2, migrate(1 = renamed))]
    Raised { name: String, #[persist(default)] level: u32 }
    #[persist(version = 2, migrate(1 = trimmed))]
    RaisedElse { name: String, #[persist(default)] mana: u32 }
    #[persist(version = 2)]
    RaisedByConvert { #[persist(convert(1 = trim))] name: String }
    #[persist(version = 2, migrate(1 = renamed))]
    RaisedJoined {
        name: String, #[persist(default)] level: u32, #[persist(default)] mana: u32,
    }
    #[persist(version = 2, migrate(1 = renamed))]
    RaisedByBoth {
        #[persist(convert(1 = trim))] name: String, #[persist(default)] level: u32,
    }
    #[persist(version = 3, migrate(1 = renamed, 2 = tell_apart))]
    RaisedMore {
        name: String, #[persist(default)] level: u32, #[persist(default)] mana: u32,
    }
    OtherMana { name: String, #[persist(default)] level: u32, #[persist(default)] mana: String }
    OtherSeat { name: String, #[persist(default)] level: u32, #[persist(default)] seat: Vec<String> }
}

/// A project under version control, with 0.1.0 locked on the branch `main`.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.git(&["init", "-q", "-b", "main"]);
        project.release("main", "0.1.0", &registry::<Released>());
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.path()).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]);
        let output = git.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn check(&self, version: &str, registry: &Registry, mode: Mode) -> persist::Result<LockReport> {
        check_file(self.path().join("persist.lock"), version, registry, mode)
    }

    /// Locks a version on a branch, and commits it.
    fn release(&self, branch: &str, version: &str, registry: &Registry) {
        self.git(&["checkout", "-q", "-B", branch]);
        self.check(version, registry, Mode::Update).unwrap();
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", version]);
    }

    fn lock(&self) -> Lock {
        Lock::load(self.path().join("persist.lock")).unwrap()
    }
}

/// Three branches from 0.1.0, merged into `main` in this order.
fn merged(order: [&str; 2]) -> Project {
    let project = Project::new();
    for (branch, version, registry) in
        [("hotfix", "0.1.1", registry::<Hotfix>()), ("console", "0.1.2", registry::<Console>())]
    {
        project.release(branch, version, &registry);
        project.git(&["checkout", "-q", "main"]);
    }
    project.release("main", "0.2.0", &registry::<Main>());
    order.iter().for_each(|branch| project.git(&["merge", "-q", "--no-edit", branch]));
    project
}

#[test]
fn git_merges_three_branches_in_any_order_and_nothing_is_forgotten() {
    let [one, other] = [["hotfix", "console"], ["console", "hotfix"]].map(merged);
    assert_eq!(one.lock(), other.lock());
    for project in [one, other] {
        assert_eq!(
            project.lock().versions().collect::<Vec<_>>(),
            ["0.1.0", "0.1.1", "0.1.2", "0.2.0"]
        );
        // The released program is as it was locked, whatever else was since.
        let report = project.check("0.2.0", &registry::<Main>(), Mode::Locked).unwrap();
        assert!(report.loads() && report.is_current(), "{report}");
        // Fields of hotfixes are neither new nor back.
        let joined = registry::<Joined>();
        let report = project.check("0.3.0", &joined, Mode::Check).unwrap();
        assert!(report.differences().iter().all(|it| it.verdict == Verdict::Safe), "{report}");
        insta::allow_duplicates! { insta::assert_snapshot!(report.to_string()); }
        // Another kind would lose what hotfixes have saved.
        let error = project.check("0.3.0", &registry::<OtherMana>(), Mode::Update).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KindMismatch);
        assert!(error.message().contains("Hero.mana (since 0.1.1)"), "{error}");
        let error = project.check("0.3.0", &registry::<OtherSeat>(), Mode::Update).unwrap_err();
        assert!(error.message().contains("Hero.seat (since 0.1.2)"), "{error}");

        project.release("main", "0.3.0", &joined);
        project.check("0.3.0", &joined, Mode::Locked).unwrap();
        // A released version is not changed through a branch, either.
        let error = project.check("0.1.1", &joined, Mode::Replace).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("0.3.0 was locked after it"), "{error}");
    }
}

/// The order in which the versions of two branches are locked and merged says nothing.
#[test]
fn a_hotfix_that_is_locked_after_the_next_release_is_of_its_branch() {
    let project = Project::new();
    project.git(&["branch", "hotfix"]);
    project.release("main", "0.2.0", &registry::<Main>());
    project.git(&["checkout", "-q", "hotfix"]);
    project.release("hotfix", "0.1.1", &registry::<Hotfix>());
    project.check("0.1.1", &registry::<Hotfix>(), Mode::Locked).unwrap();
    project.git(&["merge", "-q", "--no-edit", "main"]);
    for (version, registry) in [("0.1.1", registry::<Hotfix>()), ("0.2.0", registry::<Main>())] {
        for mode in [Mode::Locked, Mode::Update, Mode::Replace, Mode::Check] {
            let report = project.check(version, &registry, mode).unwrap();
            assert!(report.loads() && report.is_current(), "{report}");
        }
    }
    // The next hotfix came after both.
    project.release("hotfix", "0.1.2", &registry::<Joined>());
    let lock = project.lock();
    assert_eq!(lock.versions().collect::<Vec<_>>(), ["0.1.0", "0.1.1", "0.2.0", "0.1.2"]);
}

#[test]
fn one_version_that_two_branches_lock_is_a_conflict_of_its_file_alone() {
    let project = Project::new();
    project.git(&["branch", "other"]);
    project.release("main", "0.2.0", &registry::<Main>());
    project.git(&["checkout", "-q", "other"]);
    project.release("other", "0.2.0", &registry::<Hotfix>());
    let mut git = Command::new("git");
    let git = git.current_dir(project.path()).args(["merge", "main"]).output().unwrap();
    assert!(!git.status.success());
    let said = String::from_utf8(git.stdout).unwrap();
    assert!(said.contains("CONFLICT") && said.contains("0.2.0.txt"), "{said}");
    // The way out: one of them gets another version.
    project.git(&["checkout", "--ours", "persist.lock/0.2.0.txt"]);
    project.check("0.2.1", &registry::<Joined>(), Mode::Update).unwrap();
    assert_eq!(project.lock().versions().count(), 3);
}

/// git would join lines of both to schemas that nobody has released.
#[test]
fn one_version_that_two_branches_replace_is_a_conflict_and_not_joined() {
    let project = Project::new();
    let both = |hero: Registry| {
        let mut registry = hero;
        registry.register::<Other>().unwrap();
        registry
    };
    project.release("main", "0.2.0", &both(registry::<Released>()));
    project.git(&["branch", "other"]);
    let replace = |registry: &Registry, what: &str| {
        project.check("0.2.0", registry, Mode::Replace).unwrap();
        project.git(&["commit", "-q", "-a", "-m", what]);
    };
    replace(&both(registry::<Main>()), "a change of one class");
    project.git(&["checkout", "-q", "other"]);
    let mut changed = registry::<Released>();
    changed.register::<OtherChanged>().unwrap();
    replace(&changed, "a change of another class");
    let mut git = Command::new("git");
    let git = git.current_dir(project.path()).args(["merge", "-q", "main"]).output().unwrap();
    assert!(!git.status.success(), "{git:?}");
}

#[derive(Persist)]
#[persist(class = "Zone")]
struct Other {
    name: String,
}

#[derive(Persist)]
#[persist(class = "Zone")]
struct OtherChanged {
    name: String,
    #[persist(default)]
    size: u32,
}

/// What one branch converted or removed, a program of both does not take as it is.
#[test]
fn code_of_another_branch_is_asked_about() {
    let project = Project::new();
    project.git(&["branch", "hotfix"]);
    project.release("main", "0.2.0", &registry::<Gold>());
    project.git(&["checkout", "-q", "hotfix"]);
    project.release("hotfix", "0.1.1", &registry::<Cents>());
    project.git(&["merge", "-q", "--no-edit", "main"]);
    let report = project.check("0.3.0", &registry::<GoldAsIs>(), Mode::Check).unwrap_err();
    assert!(report.message().contains("loses: Hero.money (since 0.1.1)"), "{report}");
    assert!(report.message().contains("0.2.0 made the value by `convert`"), "{report}");
    project.check("0.3.0", &registry::<Gold>(), Mode::Check).unwrap();
}

#[test]
fn a_field_that_another_branch_removed_does_not_come_back_unasked() {
    let project = Project::new();
    project.git(&["branch", "hotfix"]);
    project.release("main", "0.2.0", &registry::<WithoutMana>());
    project.git(&["checkout", "-q", "hotfix"]);
    project.release("hotfix", "0.1.1", &registry::<Hotfix>());
    project.git(&["merge", "-q", "--no-edit", "main"]);
    let report = project.check("0.3.0", &registry::<Hotfix>(), Mode::Check).unwrap_err();
    assert!(report.message().contains("0.2.0 said that it is `removed`"), "{report}");
    project.check("0.3.0", &registry::<WithoutMana>(), Mode::Check).unwrap();
}

/// The hotfix gave a field another name, and the next release converts it under its first one.
#[test]
fn a_field_that_another_branch_renamed_is_offered_its_new_name() {
    let project = Project::new();
    project.release("main", "0.1.5", &registry::<WideCents>());
    project.release("main", "0.2.0", &registry::<GoldOfVersion>());
    project.git(&["checkout", "-q", "-B", "hotfix", "HEAD~1"]);
    project.release("hotfix", "0.1.6", &registry::<RenamedMoney>());
    project.git(&["checkout", "-q", "main"]);
    project.git(&["merge", "-q", "--no-edit", "hotfix"]);
    let now = project.lock().compare(&registry::<GoldOfVersion>());
    assert!(!now.loads(), "{now}");
    insta::assert_snapshot!("renamed", now.to_string());
    let now = project.lock().compare(&registry::<GoldOfBoth>());
    assert!(now.loads(), "{now}");
}

fn renamed(hero: &mut Record, _: u32) {
    hero.set("name", "Ada");
}

fn trimmed(_: &mut Record, _: u32) {}

fn tell_apart(_: &mut Record, _: u32) {}

fn trim(name: String) -> String {
    name.trim().to_owned()
}

#[test]
fn one_version_of_a_class_that_two_branches_made_is_asked_about() {
    let project = Project::new();
    project.release("main", "0.2.0", &registry::<Raised>());
    project.git(&["checkout", "-q", "-B", "hotfix", "HEAD~1"]);
    project.release("hotfix", "0.1.1", &registry::<RaisedElse>());
    project.git(&["checkout", "-q", "main"]);
    project.git(&["merge", "-q", "--no-edit", "hotfix"]);
    let now = project.lock().compare(&registry::<RaisedJoined>());
    assert!(!now.loads(), "{now}");
    insta::assert_snapshot!("raised", now.to_string());
    let now = project.lock().compare(&registry::<RaisedMore>());
    assert!(now.loads(), "{now}");
    // Nor does it matter by which attribute.
    let project = Project::new();
    project.release("main", "0.2.0", &registry::<Raised>());
    project.git(&["checkout", "-q", "-B", "hotfix", "HEAD~1"]);
    project.release("hotfix", "0.1.1", &registry::<RaisedByConvert>());
    project.git(&["checkout", "-q", "main"]);
    project.git(&["merge", "-q", "--no-edit", "hotfix"]);
    let now = project.lock().compare(&registry::<RaisedByBoth>());
    let rows = now.differences().iter().filter(|row| row.verdict == Verdict::Loses);
    assert_eq!(rows.count(), 2, "each lacks what the other did: {now}");
}

fn wide_to_gold(cents: u64) -> u64 {
    cents / 100
}

fn to_gold(cents: u32) -> u64 {
    u64::from(cents / 100)
}

#[test]
fn versions_that_are_not_supported_any_more_are_deleted_as_files() {
    let project = merged(["hotfix", "console"]);
    project.release("main", "0.3.0", &registry::<Joined>());
    let folder = project.path().join("persist.lock");
    fs::remove_file(folder.join("0.1.1.txt")).unwrap();
    assert_eq!(project.lock().versions().collect::<Vec<_>>(), ["0.1.0", "0.1.2", "0.2.0", "0.3.0"]);
    let report = project.check("0.4.0", &registry::<OtherMana>(), Mode::Check).unwrap_err();
    assert!(report.message().contains("Hero.mana (since 0.3.0)"), "{report}");
    // Other files beside them are nobody's versions.
    fs::write(folder.join("0.2.0.txt.orig"), "<<<<<<<").unwrap();
    fs::write(folder.join("README.md"), "Do not edit").unwrap();
    assert_eq!(project.lock().versions().count(), 4);
}
