//! Every sort of finding under `LoadPolicy::Strict`: what lost something is refused, what
//! lost nothing is not.

use persist::save::LoadEvent;
use persist::{ErrorKind, LoadOptions, Persist, Unknown};

use super::harness::{CLAMP, DROP, FILL, LENIENT, STRICT, Shared, refused, save, shared, try_load};

#[derive(Persist)]
#[persist(class = "Case")]
struct Case {
    value: u8,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Wide {
    value: u32,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct More {
    value: u8,
    #[persist(default)]
    more: u8,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct MoreWithout {
    value: u8,
    more: u8,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Room {
    value: u8,
    #[persist(unknown)]
    rest: Unknown,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Pointer {
    value: u8,
    more: Shared<Gone>,
}

#[derive(Persist)]
struct Gone {
    value: u8,
}

const BOTH: fn(LoadOptions) -> LoadOptions = |options| options.policy(STRICT.policy);

/// Refused, with the field, where a lenient load says `change`.
#[track_caller]
fn strictly<Old: Persist, New: Persist>(
    old: impl Fn() -> Old,
    options: LoadOptions,
    change: LoadEvent,
    field: Option<&str>,
) {
    let (_, found) = try_load::<New>(&save(old()), options).unwrap();
    assert!(found.iter().any(|row| row.0 == change), "{found:?}");
    let error = refused::<Old, New>(old(), BOTH(options));
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert_eq!((error.class(), error.field()), (Some("Case"), field), "{error}");
    assert_eq!(error.object(), Some(1), "{error}");
    assert!(error.message().contains("LoadPolicy::Lenient"), "{error}");
}

#[track_caller]
fn allowed<Old: Persist, New: Persist>(old: impl Fn() -> Old, change: Option<LoadEvent>) {
    let (_, found) = try_load::<New>(&save(old()), STRICT).unwrap();
    assert_eq!(found.first().map(|row| row.0), change);
}

#[test]
fn what_loses_nothing_is_allowed() {
    allowed::<_, Case>(|| Case { value: 1 }, None);
    allowed::<_, Wide>(|| Case { value: 1 }, Some(LoadEvent::Converted));
    allowed::<_, Case>(|| Wide { value: 1 }, Some(LoadEvent::Converted));
    allowed::<_, More>(|| Case { value: 1 }, Some(LoadEvent::Defaulted));
    assert_eq!(super::harness::row(LoadEvent::Kept, "", "", 0).3, 0);
}

#[test]
fn what_loses_something_is_refused() {
    let more = || MoreWithout { value: 1, more: 2 };
    strictly::<_, Case>(more, LENIENT, LoadEvent::Kept, Some("more"));
    strictly::<_, Case>(more, DROP, LoadEvent::Dropped, Some("more"));
    strictly::<_, Room>(more, LENIENT, LoadEvent::Kept, Some("more"));
    strictly::<_, Room>(more, DROP, LoadEvent::Dropped, Some("more"));
    strictly::<_, MoreWithout>(|| Case { value: 1 }, FILL, LoadEvent::Filled, Some("more"));
    strictly::<_, Case>(|| Wide { value: 300 }, CLAMP, LoadEvent::Clamped, Some("value"));
    let pointer = || Pointer { value: 1, more: shared(Gone { value: 1 }) };
    strictly::<_, Case>(pointer, LENIENT, LoadEvent::Kept, Some("more"));
    strictly::<_, Case>(pointer, DROP, LoadEvent::Unknown, Some("more"));
    // No policy makes an error good.
    assert!(try_load::<Case>(&save(Wide { value: 300 }), STRICT).is_err());
    let room = Room { value: 1, rest: Unknown::default() };
    assert!(room.value == 1 && room.rest.is_empty());
}
