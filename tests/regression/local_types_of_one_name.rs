//! Types of one name inside two trait methods were taken for one class.

use persist::save::Registry;
use persist::{ErrorKind, Persist, Result};

trait Register {
    fn register(registry: &mut Registry) -> Result<()>;
}

struct First;
struct Second;

impl Register for First {
    fn register(registry: &mut Registry) -> Result<()> {
        #[derive(Persist)]
        struct Local {
            a: u32,
        }
        registry.register::<Local>()
    }
}

impl Register for Second {
    fn register(registry: &mut Registry) -> Result<()> {
        #[derive(Persist)]
        struct Local {
            a: String,
        }
        registry.register::<Local>()
    }
}

#[test]
fn the_second_is_refused() {
    let mut registry = Registry::new();
    First::register(&mut registry).unwrap();
    let error = Second::register(&mut registry).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateId);
}
