//! [`LockReport`]: the changes, their verdicts, and the attributes to paste.

use std::fmt;

use super::LockReport;
use persist::ErrorKind;

/// The effect of a change on the saves of older versions, from harmless to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verdict {
    /// They load, and nothing of them is lost or changed.
    Safe,
    /// They load as far as the schemas tell; no sample shows it, for another change that must be mended
    /// first, or for a hook.
    Untested,
    /// They do not load, or lose something, until the new one has `#[persist(default)]`.
    NeedsDefault,
    /// They do not load, or lose something, until the new name has an `#[persist(alias = "old")]`.
    NeedsAlias,
    /// They load, and lose something.
    Loses,
    /// They do not load, or they never will again.
    Breaks,
}

impl Verdict {
    /// True if old saves do not load, or lose something.
    pub(super) fn is_bad(self) -> bool {
        self > Self::Untested
    }
}

/// A change since some versions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The versions since which it is one.
    pub versions: Vec<String>,
    /// Name of the class, or of the trait.
    pub class: String,
    /// The field, after the name of its variant if it has one; or the variant.
    pub field: Option<String>,
    /// The change, in words, with its effect and what to do.
    pub change: String,
    /// The effect on old saves.
    pub verdict: Verdict,
    /// The attribute to paste, where one helps.
    pub attribute: Option<String>,
    /// The source line below the attribute: `mana: u32`, `struct Hero`.
    pub above: Option<String>,
    /// The function that the attribute names, where it is known what it must do.
    pub code: Option<String>,
    /// The error that old saves get, where one is known.
    pub(super) kind: ErrorKind,
}

impl Difference {
    pub(super) fn new(class: &str, verdict: Verdict, change: String) -> Self {
        Self {
            versions: Vec::new(),
            class: class.to_owned(),
            field: None,
            change,
            verdict,
            attribute: None,
            above: None,
            code: None,
            kind: ErrorKind::NotFound,
        }
    }

    /// True if it is the same change, whatever the versions.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let of = |it: &Self| {
            let texts = [&it.field, &it.attribute, &it.above, &it.code].map(Clone::clone);
            (it.verdict, it.class.clone(), it.change.clone(), texts)
        };
        of(self) == of(other)
    }
}

/// Something that the check could not see, or that is no fault of a change.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Note {
    /// The versions that it is about.
    pub versions: Vec<String>,
    /// The text of the note.
    pub text: String,
}

impl LockReport {
    /// Returns the changes, worst first.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// Returns the limits of the check, such as boundary values that the program itself refuses.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The classes without a sample that loads, so that nothing shows whether old saves do.
    ///
    /// The check fails for them, but for those that refuse samples of the program's own schema, too: a type that checks
    /// its content refuses what the library makes up.
    pub fn not_tested(&self) -> impl Iterator<Item = &str> {
        self.not_tested.iter().map(|class| &*class.class)
    }

    /// Returns true if the saves of all locked versions load and lose nothing, as far as the lock knows.
    ///
    /// Then no change is worse than [`Verdict::Untested`], and the only classes that are [not tested](Self::not_tested)
    /// are those that check their content.
    #[must_use]
    pub fn loads(&self) -> bool {
        self.bad() == 0 && self.not_tested.iter().all(|class| class.is_excused)
    }

    fn bad(&self) -> usize {
        self.differences.iter().filter(|found| found.verdict.is_bad()).count()
    }

    /// True if a version that no other came after has the schemas of the program.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.is_current
    }
}

impl fmt::Display for LockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let newest = |or: &str| match &self.newest[..] {
            [first @ .., last] if !first.is_empty() => format!("{} {or} {last}", first.join(", ")),
            all => all.concat(),
        };
        let (newest, any) = (newest("and"), newest("or"));
        if newest.is_empty() {
            return f.write_str("the lock has no version yet\n");
        }
        let (versions, plural) = (self.versions, if self.versions == 1 { "" } else { "s" });
        if self.loads() {
            writeln!(f, "the saves of {versions} locked version{plural} load, up to {newest}")?;
        } else {
            let all = self.differences.len();
            let since = format_args!("since {versions} locked version{plural} up to {newest}");
            match self.bad() {
                0 => writeln!(f, "it is not known whether old saves load, {since}")?,
                bad => writeln!(f, "old saves are not safe: {bad} of {all} changes, {since}")?,
            }
        }
        if !self.not_tested.is_empty() {
            let classes: Vec<&str> = self.not_tested().collect();
            let them = if classes.len() == 1 { "it" } else { "them" };
            writeln!(f, "NOT TESTED: {} (no sample of {them} loads)", classes.join(", "))?;
        }
        for difference in &self.differences {
            write!(f, "\n{difference}")?;
        }
        if let Some(downgrades) = &self.downgrades {
            match self.may_downgrade() {
                true => f.write_str("\nplayers may go back to the locked versions\n")?,
                false => f.write_str(
                    "\nplayers who go back lose values: a locked version takes what this one writes for something else\n",
                )?,
            }
            for difference in downgrades {
                let it = difference.to_string().replacen(" (since ", " (in ", 1);
                write!(f, "\n{it}")?;
            }
        }
        if !self.notes.is_empty() {
            f.write_str("\n")?;
        }
        for note in &self.notes {
            writeln!(f, "note ({}): {}", note.versions.join(", "), note.text)?;
        }
        if self.loads() && !self.is_current {
            writeln!(
                f,
                "\nthe program is not what the lock has of {any}; before the release, give it a version of its own and run the test with PERSIST_LOCK=update"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safe => "safe",
            Self::Untested => "untested",
            Self::NeedsDefault => "needs default",
            Self::NeedsAlias => "needs alias",
            Self::Loses => "loses",
            Self::Breaks => "breaks",
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.verdict, self.class)?;
        if let Some(field) = &self.field {
            write!(f, ".{field}")?;
        }
        writeln!(f, " (since {}): {}", self.versions.join(", "), self.change)?;
        if let Some(attribute) = &self.attribute {
            writeln!(f, "    {attribute}")?;
            if let Some(above) = &self.above {
                writeln!(f, "    {above}")?;
            }
        }
        if let Some(code) = &self.code {
            writeln!(f)?;
            code.lines().try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        Ok(())
    }
}
