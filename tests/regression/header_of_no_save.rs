//! The bytes of a file that is no save were taken for the length of its header, and read whole.

use std::io::{self, Read};

use persist::ErrorKind;
use persist::save::Header;

/// Counts what is read of it.
struct Endless<'c>(&'c mut u64);

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(*self.0 < 1 << 20, "it is read on and on");
        buffer.fill(b'x');
        *self.0 += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn of_a_file_that_is_no_save_the_first_bytes_are_read() {
    let mut read = 0;
    let error = Header::from_reader(Endless(&mut read)).unwrap_err();
    assert_eq!((error.kind(), read), (ErrorKind::NotASave, 16));
}
