use std::cmp::Ordering;

use super::Header;

/// How a save stands to another save of the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lineage {
    /// They are one save.
    Same,
    /// This save continues the other: nothing is lost if it replaces the other.
    Newer,
    /// The other save continues this one: nothing is lost if the other replaces it.
    Older,
    /// Each has, or may have, what the other does not.
    Diverged,
}

impl Lineage {
    fn reversed(self) -> Self {
        match self {
            Self::Newer => Self::Older,
            Self::Older => Self::Newer,
            other => other,
        }
    }
}

impl Header {
    /// The devices that made this save and those that it continues, by name, each with the number of saves it made.
    ///
    /// Empty if no program with a [device](crate::SaveManager::set_device) made any of them. The name is empty for saves
    /// that a program without a device made since.
    pub fn devices(&self) -> impl Iterator<Item = (&str, u64)> {
        self.version.devices()
    }

    /// Whether this save continues another save of the same slot, as far as the headers show.
    ///
    /// It does if every save that the other counts is counted here. Where neither was made with a
    /// [device](crate::SaveManager::set_device), the larger generation is the newer one; that does not show whether they
    /// differ. Where one was, the other is older if its generation is from before the first count.
    ///
    /// Whatever does not fit together is [`Lineage::Diverged`]: equal counts in headers that differ, more counts without a
    /// larger generation, or a save that was not made for a file beside one that was. Headers that are equal are [`Lineage::Same`];
    /// [`SaveManager::compare`](crate::SaveManager::compare) looks at what follows them, too.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::SaveManager;
    /// use persist::save::{Header, Lineage};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("slot1.sav");
    /// let mut saves = SaveManager::new();
    /// saves.set_device("steam-deck")?;
    /// saves.save_value(&path, &1_u32)?;
    /// let first = Header::from_reader(std::fs::File::open(&path)?)?;
    /// saves.save_value(&path, &2_u32)?;
    /// let second = Header::from_reader(std::fs::File::open(&path)?)?;
    ///
    /// assert_eq!(second.compare(&first), Lineage::Newer);
    /// assert!(second.devices().eq([("steam-deck", 2)]));
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn compare(&self, other: &Self) -> Lineage {
        if self == other {
            return Lineage::Same;
        }
        if self.generation == 0 || other.generation == 0 {
            return Lineage::Diverged;
        }
        let by_generation = self.generation.cmp(&other.generation);
        let by_counts = match (self.version.is_empty(), other.version.is_empty()) {
            (true, true) => Some(by_generation),
            (true, false) => return other.compare(self).reversed(),
            (false, true) => {
                let before = self.generation.saturating_sub(self.version.total());
                (other.generation <= before).then_some(Ordering::Greater)
            }
            (false, false) => {
                match (self.version.covers(&other.version), other.version.covers(&self.version)) {
                    (true, false) => Some(Ordering::Greater),
                    (false, true) => Some(Ordering::Less),
                    _ => None,
                }
            }
        };
        match (by_counts, by_generation) {
            (Some(Ordering::Greater), Ordering::Greater) => Lineage::Newer,
            (Some(Ordering::Less), Ordering::Less) => Lineage::Older,
            _ => Lineage::Diverged,
        }
    }
}
