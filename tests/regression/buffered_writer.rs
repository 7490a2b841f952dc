//! A buffered writer swallowed what it could not write when it was dropped.

use std::io::{self, BufWriter, Write};

use persist::{ErrorKind, SaveManager};

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_a_buffered_writer_cannot_write_is_an_error() {
    let full = BufWriter::with_capacity(1 << 20, Full);
    let error = SaveManager::new().value_to_writer(full, &7_u8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
}
