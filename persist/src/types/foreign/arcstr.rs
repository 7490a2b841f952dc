//! `arcstr`: each value is a text of its own after a load, also if several shared one before.

use arcstr::ArcStr;

use super::text::foreign_texts;

foreign_texts! { ArcStr = ArcStr::from; }
