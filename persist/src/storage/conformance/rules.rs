//! Checks of the rules, each on an empty storage.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    Checked, Probe, breach, fails, is, is_content, is_list, may_lack, quoted, shown, succeeds,
};
use crate::platform;
use crate::storage::{StorageLock, folder_of};

/// Checks of the calls that all other checks use. Each needs the earlier ones.
pub(super) const BASIC: &[fn(&Probe) -> Checked] = &[reads, creates, misses, syncs, writes, seeks];

/// All other checks.
pub(super) const CHECKS: &[fn(&Probe) -> Checked] = &[
    has_own_positions,
    replaces_open_file,
    renames,
    renames_open_writer,
    fails_without_change,
    links,
    removes,
    lists,
    appends,
    truncates,
    locks,
    locks_after_kill,
    locks_file,
    resolves,
    stamps,
    names,
    long_names,
    large_files,
    many_files,
    creates_in_threads,
    locks_in_threads,
    renames_beside_reader,
    flushes_folder,
];

/// Bytes without a pattern that repeats.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn creates(probe: &Probe) -> Checked {
    drop(succeeds(1, "create \"a\"", probe.create("a"))?);
    probe.has(1, "after create", "a", b"")?;
    probe.put("b", b"one")?;
    fails(1, "create \"b\", which exists", probe.create("b"), io::ErrorKind::AlreadyExists)?;
    probe.has(1, "after a second create", "b", b"one")?;
    let like = probe.storage.create(Path::new("c"), Path::new("b"));
    drop(succeeds(1, "create \"c\" like \"b\"", like)?);
    probe.has(1, "created like \"b\"", "c", b"")?;
    probe.has(1, "after \"c\" was created like it", "b", b"one")?;
    let like = probe.storage.create(Path::new("d"), Path::new("missing"));
    drop(succeeds(1, "create \"d\" like a missing file", like)?);
    probe.has(1, "created like a missing file", "d", b"")
}

fn misses(probe: &Probe) -> Checked {
    const RULE: usize = 2;
    const MISSING: io::ErrorKind = io::ErrorKind::NotFound;
    fn lacks<T>(what: &str, result: io::Result<T>) -> Checked {
        match result {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
            result => fails(RULE, what, result, MISSING),
        }
    }
    let path = Path::new("a");
    fails(RULE, "open a missing file", probe.open("a"), MISSING)?;
    fails(RULE, "rename a missing file", probe.rename("a", "b"), MISSING)?;
    fails(RULE, "remove a missing file", probe.remove("a"), MISSING)?;
    fails(RULE, "stamp of a missing file", probe.storage.stamp(path), MISSING)?;
    lacks("append to a missing file", probe.append("a", 0))?;
    lacks("link to a missing file", probe.link("a", "b"))?;
    lacks("lock_file of a missing file", probe.storage.lock_file(path))?;
    probe.has_none(RULE, "after calls with a missing file", "a")?;
    probe.has_none(RULE, "after calls with a missing file", "b")
}

fn writes(probe: &Probe) -> Checked {
    const RULE: usize = 3;
    let content = bytes(10_000);
    let mut file = succeeds(1, "create \"a\"", probe.create("a"))?;
    let (mut rest, mut size, mut written) = (&content[..], 0, 0);
    while !rest.is_empty() {
        let part = &rest[..size.min(rest.len())];
        let accepted = succeeds(RULE, format!("write {} bytes", part.len()), file.write(part))?;
        if accepted > part.len() || (accepted == 0 && !part.is_empty()) {
            return breach(RULE, format!("write {} bytes: found Ok({accepted})", part.len()));
        }
        (written, rest) = (written + accepted, &rest[accepted..]);
        probe.has(RULE, "before sync", "a", &content[..written])?;
        size = size * 3 + 1;
    }
    succeeds(RULE, "flush \"a\"", file.flush())?;
    drop(file);
    probe.has(RULE, "after the writer was dropped without sync", "a", &content)
}

fn syncs(probe: &Probe) -> Checked {
    const RULE: usize = 4;
    let mut file = succeeds(1, "create \"a\"", probe.create("a"))?;
    for (part, all) in [("one", "one"), ("", "one"), ("two", "onetwo")] {
        succeeds(3, "write to \"a\"", file.write_all(part.as_bytes()))?;
        succeeds(RULE, "sync \"a\"", file.sync())?;
        probe.has(RULE, "after sync, while the writer is open", "a", all.as_bytes())?;
    }
    drop(file);
    probe.has(RULE, "after sync", "a", b"onetwo")
}

fn reads(probe: &Probe) -> Checked {
    const RULE: usize = 5;
    let content = bytes(10_000);
    probe.put("a", &content)?;
    for size in [1, 7, 512, 4_096, 20_000] {
        let mut file = succeeds(RULE, "open \"a\"", probe.open("a"))?;
        let (mut part, mut found) = (vec![0; size], Vec::new());
        let what = format!("read \"a\" by {size} bytes");
        is(RULE, "read 0 bytes", &0, &succeeds(RULE, "read 0 bytes", file.read(&mut []))?)?;
        loop {
            let length = succeeds(RULE, &what, file.read(&mut part))?;
            let Some(read) = part.get(..length) else {
                return breach(RULE, format!("{what}: found Ok({length})"));
            };
            found.extend_from_slice(read);
            if length == 0 || found.len() > content.len() {
                break;
            }
        }
        is_content(RULE, &what, &content, &found)?;
        is(RULE, "read at the end", &0, &succeeds(RULE, "read at the end", file.read(&mut part))?)?;
    }
    Ok(())
}

fn seeks(probe: &Probe) -> Checked {
    const RULE: usize = 6;
    probe.put("a", b"0123456789")?;
    let mut file = succeeds(RULE, "open \"a\"", probe.open("a"))?;
    let steps = [
        (SeekFrom::End(0), 10, ""),
        (SeekFrom::Start(3), 3, "34"),
        (SeekFrom::Current(2), 7, "78"),
        (SeekFrom::Current(-9), 0, "01"),
        (SeekFrom::End(-1), 9, "9"),
        (SeekFrom::Start(20), 20, ""),
        (SeekFrom::Start(0), 0, "01"),
    ];
    for (to, position, content) in steps {
        let what = format!("seek to {to:?} in a file of 10 bytes");
        is(RULE, &what, &position, &succeeds(RULE, &what, file.seek(to))?)?;
        let mut found = Vec::new();
        succeeds(RULE, &what, (&mut *file).take(2).read_to_end(&mut found))?;
        is_content(RULE, &format!("{what}, then read 2 bytes"), content.as_bytes(), &found)?;
    }
    match file.seek(SeekFrom::End(-11)) {
        Err(_) => Ok(()),
        Ok(found) => {
            breach(RULE, format!("seek before the start: expected an error, found {found}"))
        }
    }
}

fn has_own_positions(probe: &Probe) -> Checked {
    const RULE: usize = 7;
    probe.put("a", b"0123456789")?;
    let mut one = succeeds(RULE, "open \"a\"", probe.open("a"))?;
    let mut other = succeeds(RULE, "open \"a\" a second time", probe.open("a"))?;
    succeeds(RULE, "seek in the second one", other.seek(SeekFrom::Start(5)))?;
    for (is_first, expected) in [(true, b"01"), (false, b"56"), (true, b"23")] {
        let file = if is_first { &mut one } else { &mut other };
        let mut found = [0; 2];
        succeeds(RULE, "read \"a\", which is open twice", file.read_exact(&mut found))?;
        is_content(RULE, "read \"a\", which is open twice", expected, &found)?;
    }
    Ok(())
}

fn replaces_open_file(probe: &Probe) -> Checked {
    const RULE: usize = 8;
    let (old, new) = (bytes(300_000), vec![b'n'; 300_000]);
    probe.put("a", &old)?;
    probe.put("b", &new)?;
    let mut reader = succeeds(RULE, "open \"a\"", probe.open("a"))?;
    let mut found = vec![0; 1_000];
    succeeds(RULE, "read the start of \"a\"", reader.read_exact(&mut found))?;
    match probe.rename("b", "a") {
        Ok(()) => {}
        // Some systems hold a file that is open.
        Err(_) => {
            probe.has(11, "after a failed rename over an open file", "a", &old)?;
            return probe.has(11, "after a failed rename over an open file", "b", &new);
        }
    }
    if reader.read_to_end(&mut found).is_ok() {
        is_content(RULE, "\"a\", replaced while it was read", &old, &found)?;
    }
    drop(reader);
    probe.has(RULE, "replaced while it was read", "a", &new)
}

fn renames(probe: &Probe) -> Checked {
    const RULE: usize = 9;
    probe.put("other", b"other")?;
    let mut expected = Vec::new();
    for (i, length) in [3, 5_000, 40, 0, 1].into_iter().enumerate() {
        let content = &bytes(length + i)[i..];
        probe.put("new", content)?;
        let when = if i == 0 { "renamed to a free name" } else { "renamed over a file" };
        succeeds(RULE, when, probe.rename("new", "a"))?;
        probe.has(RULE, when, "a", content)?;
        probe.has_none(RULE, when, "new")?;
        expected = content.to_vec();
    }
    succeeds(RULE, "rename \"a\" to \"b\"", probe.rename("a", "b"))?;
    probe.has(RULE, "renamed", "b", &expected)?;
    probe.has(RULE, "beside a rename", "other", b"other")?;
    probe.lists(RULE, "after renames", &["b", "other"])
}

fn renames_open_writer(probe: &Probe) -> Checked {
    const RULE: usize = 10;
    probe.put("b", b"old")?;
    let mut file = succeeds(1, "create \"a\"", probe.create("a"))?;
    succeeds(3, "write to \"a\"", file.write_all(b"one"))?;
    succeeds(4, "sync \"a\"", file.sync())?;
    for to in ["b", "c"] {
        let from = if to == "b" { "a" } else { "b" };
        succeeds(RULE, "rename a file whose writer is open", probe.rename(from, to))?;
    }
    probe.has(RULE, "renamed while its writer is open", "c", b"one")?;
    succeeds(RULE, "write to a file that was renamed", file.write_all(b"two"))?;
    succeeds(RULE, "sync a file that was renamed", file.sync())?;
    drop(file);
    probe.has(RULE, "written to after it was renamed", "c", b"onetwo")?;
    probe.lists(RULE, "after a write to a renamed file", &["c"])
}

fn fails_without_change(probe: &Probe) -> Checked {
    const RULE: usize = 11;
    probe.put("a", b"one")?;
    fails(2, "rename a missing file", probe.rename("missing", "a"), io::ErrorKind::NotFound)?;
    probe.has(RULE, "after a missing file was renamed to it", "a", b"one")?;
    let _ = probe.link("missing", "a");
    probe.has(RULE, "after a missing file was linked to it", "a", b"one")?;
    let _ = probe.append("a", 4).map(drop);
    probe.has(RULE, "after an append behind its end", "a", b"one")?;
    probe.lists(RULE, "after calls that failed", &["a"])
}

fn links(probe: &Probe) -> Checked {
    const RULE: usize = 12;
    probe.put("a", b"one")?;
    let linked = may_lack(RULE, "link \"a\" to \"b\"", probe.link("a", "b"))?;
    if linked.is_none() {
        return probe.lists(RULE, "after an unsupported link", &["a"]);
    }
    probe.has(RULE, "linked to \"b\"", "a", b"one")?;
    probe.has(RULE, "linked from \"a\"", "b", b"one")?;
    probe.put("c", b"two")?;
    if probe.link("c", "b").is_ok() {
        return breach(RULE, "link to a name that is taken: expected an error, found Ok");
    }
    probe.has(RULE, "after a link to it was refused", "b", b"one")?;
    succeeds(RULE, "rename over a name of two", probe.rename("c", "a"))?;
    probe.has(RULE, "renamed over a name of two", "a", b"two")?;
    probe.has(RULE, "the other of two names", "b", b"one")?;
    succeeds(RULE, "link \"b\" to \"d\"", probe.link("b", "d"))?;
    succeeds(RULE, "remove a name of two", probe.remove("b"))?;
    probe.has(RULE, "the other of two names", "d", b"one")?;
    probe.lists(RULE, "after links", &["a", "d"])
}

fn removes(probe: &Probe) -> Checked {
    const RULE: usize = 13;
    probe.put("a", b"one")?;
    probe.put("b", b"two")?;
    succeeds(RULE, "remove \"a\"", probe.remove("a"))?;
    probe.has_none(RULE, "after remove", "a")?;
    fails(2, "remove \"a\" again", probe.remove("a"), io::ErrorKind::NotFound)?;
    probe.has(RULE, "beside a file that was removed", "b", b"two")?;
    probe.put("a", b"three")?;
    probe.has(RULE, "created after it was removed", "a", b"three")
}

fn lists(probe: &Probe) -> Checked {
    const RULE: usize = 14;
    probe.lists(RULE, "a new storage", &[])?;
    for name in ["a.sav", "./b.sav", ".c", "d"] {
        probe.put(name, b"one")?;
    }
    succeeds(RULE, "remove \"d\"", probe.remove("d"))?;
    let inside = Path::new("folder/e");
    // A storage may have no folders, or not this one.
    let has_folder = probe.storage.create(inside, inside).is_ok();
    probe.lists(RULE, "three files and a folder", &["a.sav", "b.sav", ".c"])?;
    if has_folder {
        let list = succeeds(RULE, "list \"folder\"", probe.storage.list(Path::new("folder")))?;
        is_list(RULE, "list \"folder\"", &[PathBuf::from("e")], &list)?;
    }
    match probe.storage.list(Path::new("missing")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        list => {
            let what = "list a missing folder";
            is_list(RULE, what, &[], &succeeds(RULE, what, list)?)
        }
    }
}

fn appends(probe: &Probe) -> Checked {
    const RULE: usize = 15;
    probe.put("a", b"0123456789")?;
    let mut expected = b"0123456789".to_vec();
    for (length, more) in [(10, "ab"), (4, "c"), (4, ""), (0, "0123456789")] {
        let what = format!("append to {} bytes after {length}", expected.len());
        let Some(mut file) = may_lack(RULE, &what, probe.append("a", length))? else {
            return probe.has(RULE, "after an unsupported append", "a", &expected);
        };
        expected.truncate(usize::try_from(length).unwrap_or_default());
        probe.has(RULE, &what, "a", &expected)?;
        for byte in more.bytes() {
            succeeds(RULE, &what, file.write_all(&[byte]))?;
            expected.push(byte);
            probe.has(3, &what, "a", &expected)?;
        }
        succeeds(4, "sync after an append", file.sync())?;
        drop(file);
        probe.has(RULE, &what, "a", &expected)?;
    }
    if probe.append("a", 11).is_ok() {
        return breach(RULE, "append to 10 bytes after 11: expected an error, found Ok");
    }
    probe.has(RULE, "after a refused append", "a", &expected)
}

fn truncates(probe: &Probe) -> Checked {
    const RULE: usize = 16;
    let mut file = succeeds(1, "create \"a\"", probe.create("a"))?;
    let mut expected = Vec::new();
    for (more, length) in [("0123456789", 4), ("ab", 6), ("c", 0)] {
        succeeds(3, "write to \"a\"", file.write_all(more.as_bytes()))?;
        expected.extend_from_slice(more.as_bytes());
        let what = format!("truncate {} bytes to {length}", expected.len());
        if may_lack(RULE, &what, file.truncate(length))?.is_some() {
            expected.truncate(usize::try_from(length).unwrap_or_default());
        }
        probe.has(RULE, &what, "a", &expected)?;
    }
    succeeds(3, "write after truncate", file.write_all(b"end"))?;
    succeeds(4, "sync after truncate", file.sync())?;
    drop(file);
    expected.extend_from_slice(b"end");
    probe.has(RULE, "written to after truncate", "a", &expected)
}

/// Expects a lock, or `None`; returns it, or `None` if the storage has no locks.
fn takes(
    rule: usize,
    what: &str,
    result: io::Result<Option<StorageLock>>,
    is_free: bool,
) -> Checked<Option<StorageLock>> {
    match (may_lack(rule, what, result)?, is_free) {
        (Some(None), true) => breach(rule, format!("{what}: expected a lock, found None")),
        (Some(Some(_)), false) => breach(rule, format!("{what}: expected None, found a lock")),
        (lock, _) => Ok(lock.flatten()),
    }
}

fn locks(probe: &Probe) -> Checked {
    const RULE: usize = 17;
    let lock = |what: &str, name: &str, is_free| {
        takes(RULE, what, probe.storage.lock(Path::new(name)), is_free)
    };
    probe.put("a.sav", b"one")?;
    for what in ["lock a free path", "lock a path whose lock was dropped"] {
        let Some(first) = lock(what, ".a.lock", true)? else { return Ok(()) };
        lock("lock a locked path", ".a.lock", false)?;
        drop(lock("lock another path", ".b.lock", true)?);
        succeeds(RULE, "open the file of a lock", probe.open(".a.lock"))?;
        // The calls in between have not released it.
        lock("lock a path that is still locked", ".a.lock", false)?;
        drop(first);
        probe.has_none(RULE, "after a lock was dropped", ".a.lock")?;
        probe.lists(RULE, "after a lock was dropped", &["a.sav"])?;
    }
    probe.has(RULE, "beside a lock", "a.sav", b"one")
}

fn locks_after_kill(probe: &Probe) -> Checked {
    const RULE: usize = 17;
    probe.put(".a.lock", b"")?;
    let what = "lock a path whose file was left by a killed program";
    let lock = takes(RULE, what, probe.storage.lock(Path::new(".a.lock")), true)?;
    if lock.is_none() {
        return Ok(());
    }
    drop(lock);
    probe.has_none(RULE, "after such a lock was dropped", ".a.lock")
}

fn locks_file(probe: &Probe) -> Checked {
    const RULE: usize = 18;
    let lock = |what: &str, name: &str, is_free| {
        takes(RULE, what, probe.storage.lock_file(Path::new(name)), is_free)
    };
    probe.put("a", b"one")?;
    let Some(first) = lock("lock_file of a free file", "a", true)? else { return Ok(()) };
    lock("lock_file of a locked file", "a", false)?;
    if probe.link("a", "b").is_ok() {
        lock("lock_file of a second name of a locked file", "b", false)?;
    }
    probe.has(RULE, "a locked file", "a", b"one")?;
    let mut expected = b"one".to_vec();
    if let Some(mut file) = may_lack(RULE, "append to a locked file", probe.append("a", 3))? {
        succeeds(RULE, "write to a locked file", file.write_all(b"two"))?;
        expected.extend_from_slice(b"two");
    }
    succeeds(RULE, "rename a locked file", probe.rename("a", "c"))?;
    lock("lock_file of a locked file that was renamed", "c", false)?;
    drop(first);
    probe.has(RULE, "a file whose lock was dropped", "c", &expected)?;
    lock("lock_file of a file whose lock was dropped", "c", true).map(drop)
}

fn resolves(probe: &Probe) -> Checked {
    const RULE: usize = 19;
    let resolve = |path: &Path| {
        let what = format!("resolve {:?}", path.display().to_string());
        succeeds(RULE, what, probe.storage.resolve(path))
    };
    let resolved = resolve(Path::new("a.sav"))?;
    probe.put("a.sav", b"one")?;
    is(RULE, "resolve \"a.sav\" after it was created", &resolved, &resolve(Path::new("a.sav"))?)?;
    is(RULE, "resolve a resolved path", &resolved, &resolve(&resolved)?)?;
    if resolved == resolve(Path::new("b.sav"))? {
        return breach(RULE, "resolve \"a.sav\" and \"b.sav\": expected two paths, found one");
    }
    let mut found = Vec::new();
    let read = probe.storage.open(&resolved).and_then(|mut file| file.read_to_end(&mut found));
    succeeds(RULE, "open and read a resolved path", read)?;
    is_content(RULE, "the file of a resolved path", b"one", &found)?;
    let folder = folder_of(&resolved);
    let names = succeeds(RULE, "list the folder of a resolved path", probe.storage.list(folder))?;
    is_list(RULE, "list the folder of a resolved path", &[PathBuf::from("a.sav")], &names)?;
    succeeds(RULE, "sync_folder of a resolved path", probe.storage.sync_folder(folder))
}

fn stamps(probe: &Probe) -> Checked {
    const RULE: usize = 20;
    let stamp = || succeeds(RULE, "stamp \"a\"", probe.storage.stamp(Path::new("a")));
    probe.put("a", b"one")?;
    let mut last = stamp()?;
    for content in ["two", "a longer one"] {
        drop(succeeds(5, "open \"a\"", probe.open("a"))?);
        probe.put("b", content.as_bytes())?;
        if last != stamp()? {
            return breach(
                RULE,
                "a file that was not changed: expected the same stamp, found another",
            );
        }
        succeeds(9, "rename \"b\" to \"a\"", probe.rename("b", "a"))?;
        let next = stamp()?;
        if last == next {
            return breach(
                RULE,
                "a file that was replaced: expected another stamp, found the same",
            );
        }
        last = next;
    }
    if let Some(mut file) = may_lack(15, "append to \"a\"", probe.append("a", 12))? {
        succeeds(15, "append to \"a\"", file.write_all(b" than before"))?;
        drop(file);
        if last == stamp()? {
            return breach(RULE, "a file that has grown: expected another stamp, found the same");
        }
    }
    Ok(())
}

/// Creates files with these names, and expects each to be a file of its own.
fn has_names(probe: &Probe, names: &[&str]) -> Checked {
    const RULE: usize = 21;
    for name in names {
        let create = format!("create {}", quoted(name));
        let mut file = succeeds(RULE, &create, probe.create(name))?;
        succeeds(RULE, &create, file.write_all(name.as_bytes()))?;
    }
    for name in names {
        probe.has(RULE, "one of many names", name, name.as_bytes())?;
    }
    probe.lists(RULE, "files of many names", names)?;
    for (i, name) in names.iter().enumerate() {
        let of = quoted(name);
        succeeds(RULE, format!("rename {of}"), probe.rename(name, ".moved"))?;
        succeeds(RULE, format!("rename to {of}"), probe.rename(".moved", name))?;
        succeeds(13, format!("remove {of}"), probe.remove(name))?;
        probe.has_none(13, "after remove", name)?;
        probe.lists(RULE, &format!("after {of} was removed"), &names[i + 1..])?;
    }
    Ok(())
}

fn names(probe: &Probe) -> Checked {
    let names = [
        "a",
        "a.sav",
        "a.sav.bak",
        "a.sav.bak2",
        ".a.sav.tmp",
        "a b.sav",
        "a  b.sav",
        "Ada's farm.sav",
        "%3A 100%.sav",
        "#&;$!~()[]{}@^=+,`-_.sav",
        "a.b.c.sav",
        "ж.sav",
        "冒険.sav",
        "\u{1f40d}.sav",
        "\u{e9}.sav",
        "0",
        "-",
        "_",
    ];
    has_names(probe, &names)
}

fn long_names(probe: &Probe) -> Checked {
    let (latin, cyrillic) = ("n".repeat(119), "ж".repeat(59));
    let names =
        [format!("{latin}1"), format!("{latin}2"), format!(".{latin}"), format!("{cyrillic}.1")];
    has_names(probe, &names.each_ref().map(|name| &**name))
}

fn large_files(probe: &Probe) -> Checked {
    const RULE: usize = 22;
    let content = bytes(5 << 20);
    let mut file = succeeds(RULE, "create a file of 5 MiB", probe.create("a"))?;
    succeeds(RULE, "write a file of 5 MiB", file.write_all(&content))?;
    drop(file);
    probe.has(RULE, "a file of 5 MiB", "a", &content)?;
    let mut file = succeeds(RULE, "open a file of 5 MiB", probe.open("a"))?;
    let what = "seek in a file of 5 MiB";
    let length = succeeds(RULE, what, file.seek(SeekFrom::End(0)))?;
    is(RULE, what, &(content.len() as u64), &length)?;
    succeeds(RULE, what, file.seek(SeekFrom::Start(4 << 20)))?;
    let mut found = vec![0; 1 << 20];
    succeeds(RULE, "read a file of 5 MiB", file.read_exact(&mut found))?;
    is_content(RULE, "the last MiB of a file of 5 MiB", &content[4 << 20..], &found)
}

fn many_files(probe: &Probe) -> Checked {
    const RULE: usize = 22;
    const COUNT: usize = 300;
    const OPEN: usize = 48;
    let names: Vec<String> = (0..COUNT).map(|number| format!("file {number}.sav")).collect();
    for name in &names {
        let mut file = succeeds(RULE, "create one of many files", probe.create(name))?;
        succeeds(RULE, "write to one of many files", file.write_all(name.as_bytes()))?;
    }
    let mut open = Vec::new();
    for name in &names[..OPEN] {
        open.push((name, succeeds(RULE, "open one of many files", probe.open(name))?));
    }
    for (name, mut file) in open {
        let mut found = Vec::new();
        succeeds(RULE, "read one of many open files", file.read_to_end(&mut found))?;
        is_content(RULE, "one of many open files", name.as_bytes(), &found)?;
    }
    probe.lists(RULE, "many files", &names.iter().map(|name| &**name).collect::<Vec<_>>())
}

/// Runs a closure in several threads at once, and returns their results; empty on a target without threads.
fn in_threads<T: Send + 'static>(
    probe: &Probe,
    run: impl Fn(&Probe, usize) -> T + Clone + Send + 'static,
) -> Vec<T> {
    const THREADS: usize = 4;
    let start = |number| {
        let (probe, run) = (Probe { storage: probe.storage.clone() }, run.clone());
        let (sender, receiver) = std::sync::mpsc::channel();
        let run = move || drop(sender.send(run(&probe, number)));
        platform::spawn("conformance", run).ok().map(|thread| (thread, receiver))
    };
    let started: Vec<_> = (0..THREADS).filter_map(start).collect();
    let mut results = Vec::new();
    for (thread, receiver) in started {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
        results.extend(receiver.recv());
    }
    results
}

fn creates_in_threads(probe: &Probe) -> Checked {
    const RULE: usize = 23;
    const ROUNDS: usize = 20;
    let created = Arc::new([const { AtomicUsize::new(0) }; ROUNDS]);
    let counts = Arc::clone(&created);
    let results = in_threads(probe, move |probe, thread| -> Checked {
        for (round, count) in counts.iter().enumerate() {
            let (shared, own) = (format!("shared {round}"), format!("own {thread} {round}"));
            probe.put(&own, own.as_bytes())?;
            match probe.create(&shared) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => {
                    drop(succeeds(RULE, "create in several threads", result)?);
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
            probe.has(RULE, "created in one of several threads", &own, own.as_bytes())?;
            succeeds(RULE, "remove in several threads", probe.remove(&own))?;
        }
        Ok(())
    });
    if results.is_empty() {
        return Ok(());
    }
    results.into_iter().collect::<Checked>()?;
    if created.iter().any(|count| count.load(Ordering::SeqCst) != 1) {
        return breach(
            RULE,
            "create one name in several threads: expected Ok once, found it not once",
        );
    }
    Ok(())
}

fn locks_in_threads(probe: &Probe) -> Checked {
    const RULE: usize = 23;
    let holders = Arc::new(AtomicUsize::new(0));
    let results = in_threads(probe, move |probe, _| -> Checked {
        for _ in 0..50 {
            let lock = probe.storage.lock(Path::new(".a.lock"));
            let Some(Some(lock)) = may_lack(RULE, "lock in several threads", lock)? else {
                continue;
            };
            let others = holders.fetch_add(1, Ordering::SeqCst);
            std::thread::yield_now();
            holders.fetch_sub(1, Ordering::SeqCst);
            drop(lock);
            if others > 0 {
                return breach(RULE, "lock in several threads: expected one holder, found more");
            }
        }
        Ok(())
    });
    results.into_iter().collect::<Checked>()?;
    probe.lists(RULE, "after locks in several threads", &[])
}

fn renames_beside_reader(probe: &Probe) -> Checked {
    const RULE: usize = 9;
    const SIZE: usize = 20_000;
    probe.put("a", &[b'a'; SIZE])?;
    let results = in_threads(probe, |probe, thread| -> Checked {
        for round in 0..30 {
            if thread == 0 {
                let byte = b'a' + round;
                probe.put("new", &[byte; SIZE])?;
                if let Err(error) = probe.rename("new", "a") {
                    // Some systems hold a file that is open.
                    let kind = error.kind();
                    if ![io::ErrorKind::ResourceBusy, io::ErrorKind::PermissionDenied]
                        .contains(&kind)
                    {
                        return breach(
                            RULE,
                            format!("rename beside a reader: found {}", shown(&error)),
                        );
                    }
                    succeeds(13, "remove \"new\"", probe.remove("new"))?;
                }
                continue;
            }
            let what = "open \"a\" while another thread replaces it";
            let mut file = succeeds(RULE, what, probe.open("a"))?;
            let mut found = Vec::new();
            succeeds(RULE, what, file.read_to_end(&mut found))?;
            let first = found.first().copied().unwrap_or_default();
            is_content(RULE, what, &[first; SIZE], &found)?;
        }
        Ok(())
    });
    results.into_iter().collect()
}

fn flushes_folder(probe: &Probe) -> Checked {
    const RULE: usize = 25;
    for round in 0..2 {
        succeeds(RULE, "sync_folder of \".\"", probe.storage.sync_folder(Path::new(".")))?;
        probe.put(&format!("a{round}"), b"one")?;
    }
    succeeds(RULE, "sync_folder of \".\"", probe.storage.sync_folder(Path::new(".")))?;
    probe.lists(RULE, "after sync_folder", &["a0", "a1"])
}
