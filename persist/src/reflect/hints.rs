//! Hints for editors that show a field.

use std::ops::RangeInclusive;

/// Defines the setters with which derived code completes a class, a field or its hints after `new`.
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

/// Describes how an editor should show a field, as its attributes say.
///
/// The hints are for programs that show fields to people. They are not stored in a save, and no value is checked
/// against them. [`validate`](derive@crate::Persist) checks values.
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
    /// Label of the field for people; without one, the field's name serves.
    pub label: Option<&'static str>,
    /// A sentence or two about the field, for a tooltip.
    pub help: Option<&'static str>,
    range: Option<(f64, f64)>,
    /// True if editors hide the field.
    pub is_hidden: bool,
    /// True if editors show the field but do not change it.
    pub is_read_only: bool,
    /// True if the field is a colour. Its type is an array of three or four numbers, a struct of numbers `r`, `g`, `b`
    /// and optionally `a`, or a `u32`. A `u32` has red in its highest byte and alpha in its lowest.
    pub is_color: bool,
}

impl EditorHints {
    /// Creates the hints of a field without attributes for editors.
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

    /// Returns the range of numbers that an editor offers, for the field or for the numbers in it. An open end is
    /// infinite.
    #[must_use]
    pub fn range(&self) -> Option<RangeInclusive<f64>> {
        self.range.map(|(start, end)| start..=end)
    }
}
