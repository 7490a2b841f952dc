//! `compact_str`.

use super::text::foreign_texts;

#[cfg(feature = "compact_str-0_8")]
foreign_texts! { compact_str_0_8::CompactString = compact_str_0_8::CompactString::new; }

#[cfg(feature = "compact_str-0_9")]
foreign_texts! { compact_str_0_9::CompactString = compact_str_0_9::CompactString::new; }
