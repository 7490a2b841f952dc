//! `smol_str`.

use super::text::foreign_texts;

#[cfg(feature = "smol_str-0_2")]
foreign_texts! { smol_str_0_2::SmolStr = smol_str_0_2::SmolStr::new; }

#[cfg(feature = "smol_str-0_3")]
foreign_texts! { smol_str_0_3::SmolStr = smol_str_0_3::SmolStr::new; }
