//! Saves go out as a stream, and come in as one.

use std::cell::RefCell;
use std::rc::Rc;

use persist::SaveManager;

/// Remembers how much it was given at once.
#[derive(Default)]
struct Pieces {
    whole: Vec<u8>,
    largest: usize,
}

impl std::io::Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.largest = self.largest.max(bytes.len());
        self.whole.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_save_is_streamed_in_blocks() {
    let mut saves = SaveManager::new();
    for i in 0..1000 {
        saves.add(&Rc::new(RefCell::new(vec![i; 100]))).unwrap();
    }
    let mut pieces = Pieces::default();
    let written = saves.to_writer(&mut pieces).unwrap();
    assert_eq!(written, pieces.whole.len() as u64);
    assert!(written > 400_000 && pieces.largest < 70_000, "{written}, {}", pieces.largest);
    assert_eq!(saves.from_slice(&pieces.whole).unwrap().len(), 1000);
}
