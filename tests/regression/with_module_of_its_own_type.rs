//! A `with` module that stores the type itself went around the limit on nesting.

use std::rc::Rc;

use persist::codec::Buffer;
use persist::{ErrorKind, Persist};

/// A list that its owner keeps behind a pointer of its own.
#[derive(Persist, Clone)]
struct Link {
    #[persist(with = next, default)]
    next: Option<Rc<Link>>,
}

mod next {
    use super::{Link, Rc};

    pub(super) type Stored = Option<Link>;

    pub(super) fn store(next: &Option<Rc<Link>>) -> Stored {
        next.as_deref().cloned()
    }

    pub(super) fn restore(stored: Stored) -> Result<Option<Rc<Link>>, String> {
        Ok(stored.map(Rc::new))
    }
}

fn chain(length: usize) -> Link {
    (1..length).fold(Link { next: None }, |link, _| Link { next: Some(Rc::new(link)) })
}

#[test]
fn nesting_through_a_with_module_is_limited() {
    let mut buffer = Buffer::new();
    let bytes = buffer.encode(&chain(128)).unwrap().to_vec();
    assert!(persist::codec::decode::<Link>(&bytes).is_ok());
    assert_eq!(buffer.encode(&chain(129)).unwrap_err().kind(), ErrorKind::TooDeep);
    let deep = vec![1; 1_000_000];
    assert_eq!(
        persist::codec::decode::<Link>(&deep).map(drop).unwrap_err().kind(),
        ErrorKind::TooDeep
    );
}
