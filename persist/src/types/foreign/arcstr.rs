//! `arcstr`: each value is a text of its own after a load; those that were shared no longer are.

use arcstr::ArcStr;

use super::text::foreign_texts;

foreign_texts! { ArcStr = ArcStr::from; }
