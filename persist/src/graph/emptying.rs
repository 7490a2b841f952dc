use crate::codec::{Prototypes, VisitLinks};

/// The links of a visit that empties cells.
pub(crate) struct Emptying<'p>(pub(crate) Prototypes<'p>);

impl VisitLinks for Emptying<'_> {
    fn prototypes(&self) -> Prototypes<'_> {
        self.0
    }
}
