//! `uuid`: stored as the 16 bytes in the order in which they are written.

use uuid::Uuid;

use super::stored_as;

stored_as! {
    Uuid as [u8; 16] = Uuid::nil(), |id| id.into_bytes() => Uuid::from_bytes;
}
