//! Saves whose schema is another one come back as if it were the program's: for every save of this room, fields and
//! variants stand in another order, and numbers are of wider or narrower kinds.

mod fixtures;
