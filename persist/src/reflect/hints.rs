//! How an editor is to show a field.

use std::ops::RangeInclusive;

/// What the derive says of a class, a field or its hints beside what their `new` takes.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) => $field:ident: $value:expr;)*) => {$(
        $(#[$doc])*
        #[doc(hidden)]
        #[must_use]
        pub const fn $name(mut self $(, $argument: $type)*) -> Self {
            self.$field = $value;
            self
        }
    )*};
}

pub(super) use setters;

/// How an editor is to show a field: what its attributes say.
///
/// It is for programs that show fields to people: nothing of it is in a save, and what a program or a save puts into the
/// field is not checked against it. [`validate`](derive@crate::Persist) does that.
///
/// # Example
///
/// ```
/// use persist::Persist;
/// use persist::codec::Reflect;
///
/// #[derive(Persist)]
/// struct Lamp {
///     #[persist(range = 0.5..=20.0, label = "Radius", help = "How far the light reaches, in metres")]
///     radius: f32,
///     #[persist(color)]
///     light: [f32; 3],
///     #[persist(hidden)]
///     seed: u64,
///     #[persist(read_only)]
///     built: u32,
/// }
///
/// let [radius, light, seed, built] = Lamp::FIELDS else { panic!("four fields") };
/// assert_eq!(radius.hints.range(), Some(0.5..=20.0));
/// assert_eq!((radius.hints.label, light.hints.label), (Some("Radius"), None));
/// assert!(light.hints.is_color && seed.hints.is_hidden && built.hints.is_read_only);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EditorHints {
    /// What people call the field; else it is called by its name.
    pub label: Option<&'static str>,
    /// A sentence or two about the field, for a tooltip.
    pub help: Option<&'static str>,
    range: Option<(f64, f64)>,
    /// True if the field is not shown.
    pub is_hidden: bool,
    /// True if the field is shown and cannot be changed.
    pub is_read_only: bool,
    /// True if the field is a colour: three or four numbers in an array or in fields `r`, `g`, `b` and `a`, or a `u32` whose
    /// highest byte is red and whose lowest is alpha.
    pub is_color: bool,
}

impl EditorHints {
    /// The hints of a field without attributes for editors.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            label: None,
            help: None,
            range: None,
            is_hidden: false,
            is_read_only: false,
            is_color: false,
        }
    }

    setters! {
        label(label: &'static str) => label: Some(label);
        help(help: &'static str) => help: Some(help);
        with_range(start: f64, end: f64) => range: Some((start, end));
        hidden() => is_hidden: true;
        read_only() => is_read_only: true;
        color() => is_color: true;
    }

    /// The numbers that an editor offers, of the field or of those in it. An open end is infinite.
    #[must_use]
    pub fn range(&self) -> Option<RangeInclusive<f64>> {
        self.range.map(|(start, end)| start..=end)
    }
}
