//! Behaviour by behaviour: one program for each room, and what several of them need.

pub mod support;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the page on the lock file, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/lock.md")]
struct LockFile;

/// The examples of the guide's page on saving and loading, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/1-save-and-load.md")]
struct SaveAndLoad;

/// The examples of the guide's page on changed types, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/2-change-your-types.md")]
struct ChangeYourTypes;

/// The examples of the guide's page on graphs, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/3-graphs.md")]
struct Graphs;

/// The examples of the guide's page on worlds, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/4-worlds.md")]
struct Worlds;

/// The examples of the guide's page on undo and crash recovery, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/5-undo-and-crash-recovery.md")]
struct UndoAndCrashRecovery;

/// The examples of the reference on graphs and worlds, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/graphs-and-worlds.md")]
struct GraphsAndWorlds;
/// The examples of the guide's page on files, slots and devices, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/6-files-slots-and-devices.md")]
struct FilesSlotsAndDevices;

/// The examples of the guide's page on mods and unknown data, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/7-mods-and-unknown-data.md")]
struct ModsAndUnknownData;

/// The examples of the page on attributes, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/attributes.md")]
struct Attributes;

/// The examples of the page on errors, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/errors.md")]
struct Errors;

/// The examples of the page on conversions, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/conversions.md")]
struct Conversions;

/// The examples of the page on going back, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/going-back.md")]
struct GoingBack;

/// The examples of the reference on histories, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/histories.md")]
struct Histories;
/// The examples of the guide's page on moving from other libraries, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/10-moving-from-serde.md")]
struct MovingFromSerde;
/// The examples of the guide's page on rewinding, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/15-rewind.md")]
struct Rewind;
