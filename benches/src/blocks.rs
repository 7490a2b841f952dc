//! Rows that are bytes already: a mesh that fits into the cache, and one that does not.

use std::hint::black_box;

use crate::codecs::Subject;
use crate::data::mesh::{self, Mesh};
use crate::harness::Contender;
use crate::report::Role;
use crate::run::Run;
use crate::sets::pod_mesh;
use crate::values::{Twin, checked, decode, encode};

/// The contenders: the copy of the fastest rival, our loop, and our copy.
const SHOWN: [&str; 2] = ["savefile", "persist"];

/// Measures meshes of three sizes; a triangle has 48 bytes.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let triangles = mesh::generate().triangles;
    for (set, count) in [("480 kB", 10_000), ("6 MB", 125_000), ("60 MB", 1_250_000)] {
        let mesh = Mesh { triangles: triangles.iter().cycle().take(count).cloned().collect() };
        measure(run, set, &mesh);
    }
    Ok(())
}

fn measure(run: &mut Run, set: &str, mesh: &Mesh) {
    let rounds = run.rounds(31);
    let mut codecs = Mesh::codecs();
    codecs.retain(|entry| SHOWN.contains(&entry.name));
    let bytes: Vec<_> = codecs.iter_mut().map(|entry| checked(entry, mesh)).collect();
    let Twin { name, encode: copy_out, decode: copy_in, .. } =
        Twin::of::<pod_mesh::Mesh>("persist, pod", mesh);

    let mut contenders: Vec<_> = codecs.iter_mut().map(|entry| encode(entry, mesh)).collect();
    contenders.push(Contender::new(name, Role::Ours, copy_out));
    run.measure("encode, us", set, 1.0, contenders, rounds);

    let readers = codecs.iter_mut().zip(&bytes);
    let mut contenders: Vec<_> = readers.map(|(entry, bytes)| decode(entry, bytes)).collect();
    contenders.push(Contender::new(name, Role::Ours, copy_in));
    contenders
        .push(Contender::new("clone", Role::Floor, || drop(black_box(black_box(mesh).clone()))));
    run.measure("decode and drop, us", set, 1.0, contenders, rounds);
}
