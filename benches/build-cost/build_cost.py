#!/usr/bin/env python3
"""What it costs to build a program whose types are saved, by `persist` and by its rivals.

Makes the same crate once for each contender, builds its dependencies, changes a line, and builds the
crate alone again: CPU seconds and the memory of the largest process, as the kernel counts them.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PERSIST = HERE.parent.parent / "persist"

SERDE = {
    "serde": '{ version = "1", features = ["derive"] }',
    "bincode": '{ version = "=2.0.1", features = ["serde"] }',
}


class Contender:
    """How a crate derives its types, and how its program saves and loads the root."""

    def __init__(self, dependencies, uses, derives, load, save):
        self.dependencies, self.uses, self.derives = dependencies, uses, derives
        self.load, self.save = load, save


CONTENDERS = {
    "persist": Contender(
        {"persist": f'{{ path = "{PERSIST}" }}'},
        "use persist::Persist;",
        "Persist",
        "persist::from_slice(&bytes).expect(\"a save\")",
        "persist::to_vec(&root).expect(\"a root\")",
    ),
    "serde + bincode": Contender(
        SERDE,
        "use serde::{Deserialize, Serialize};",
        "Serialize, Deserialize",
        "bincode::serde::decode_from_slice(&bytes, bincode::config::standard()).expect(\"a save\").0",
        "bincode::serde::encode_to_vec(&root, bincode::config::standard()).expect(\"a root\")",
    ),
    "bitcode": Contender(
        {"bitcode": '"=0.6.9"'},
        "use bitcode::{Decode, Encode};",
        "Encode, Decode",
        "bitcode::decode(&bytes).expect(\"a save\")",
        "bitcode::encode(&root)",
    ),
    "savefile": Contender(
        {
            "savefile": '{ version = "=0.20.6", default-features = false }',
            "savefile-derive": '"=0.20.6"',
        },
        "use savefile_derive::Savefile;",
        "Savefile",
        "savefile::load(&mut &bytes[..], 0).expect(\"a save\")",
        "{ let mut out = Vec::new(); savefile::save(&mut out, 0, &root).expect(\"a root\"); out }",
    ),
    "rkyv": Contender(
        {"rkyv": '"=0.8.18"'},
        "use rkyv::{Archive, Deserialize, Serialize};",
        "Archive, Serialize, Deserialize",
        "rkyv::from_bytes::<Root, rkyv::rancor::Error>(&bytes).expect(\"a save\")",
        "rkyv::to_bytes::<rkyv::rancor::Error>(&root).expect(\"a root\").to_vec()",
    ),
}


class Draw:
    """The same numbers on every machine: a linear congruential generator, with Knuth's constants."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def of(self, choices):
        return choices[self.below(len(choices))]


def nested(depth):
    """`D0 { a: u32, s: String }`, `Dn { x: Dn-1, y: Dn-1, n: u16 }`, and the last as the root."""
    yield "#[derive(DERIVE)]\npub struct D0 { pub a: u32, pub s: String }"
    for n in range(1, depth):
        yield f"#[derive(DERIVE)]\npub struct D{n} {{ pub x: D{n - 1}, pub y: D{n - 1}, pub n: u16 }}"
    yield f"#[derive(DERIVE)]\npub struct Root {{ pub x: D{depth - 1}, pub y: D{depth - 1}, pub n: u16 }}"


SCALARS = ["u8", "u16", "u32", "u64", "i16", "i32", "i64", "f32", "f64", "bool", "String", "String"]
SCALARS += ["Vec<u32>", "Option<u32>", "Option<String>", "(f32, f32)", "[u16; 4]"]


def structs(count):
    """`count` structs of 3 to 9 fields, a third of those structs defined before, some of them in
    `Vec`, `Option` and `BTreeMap`; a quarter as many enums; and a root with 20 `Vec`s."""
    draw = Draw(count)
    made, enums = [], []

    def scalar():
        if enums and draw.below(8) == 0:
            return draw.of(enums)
        return draw.of(SCALARS)

    def field():
        if not made or draw.below(3) > 0:
            return scalar()
        of = draw.of(made)
        return draw.of([of, of, of, f"Vec<{of}>", f"Option<{of}>", f"BTreeMap<u32, {of}>"])

    yield "use std::collections::BTreeMap;"
    for n in range(count):
        if n % 4 == 0:
            variants = []
            for v in range(3 + draw.below(4)):
                payload = draw.below(4)
                if payload == 0:
                    variants.append(f"V{v}({scalar()})")
                elif payload == 1:
                    variants.append(f"V{v} {{ a: {scalar()}, b: {field()} }}")
                else:
                    variants.append(f"V{v}")
            yield f"#[derive(DERIVE)]\npub enum E{n // 4} {{ {', '.join(variants)} }}"
            enums.append(f"E{n // 4}")
        fields = ", ".join(f"pub f{f}: {field()}" for f in range(3 + draw.below(7)))
        yield f"#[derive(DERIVE)]\npub struct S{n} {{ {fields} }}"
        made.append(f"S{n}")
    fields = ", ".join(f"pub v{v}: Vec<{made[-1 - v * (count // 20)]}>" for v in range(20))
    yield f"#[derive(DERIVE)]\npub struct Root {{ {fields} }}"


def port():
    """110 types as a roguelike keeps them in its saves: maps, monsters, items, quests."""
    yield (HERE / "port.rs").read_text()


SHAPES = {
    "depth 4": lambda: nested(4),
    "depth 6": lambda: nested(6),
    "depth 8": lambda: nested(8),
    "200 structs": lambda: structs(200),
    "port": port,
}

MODES = {"check": ["check"], "debug": ["build"], "release": ["build", "--release"]}

# What is measured: the first build of the crate, and the one after a change, which in the first two modes has what
# cargo keeps of the one before it. Release builds keep nothing.
COLUMNS = ["check, first", "check", "debug, first", "debug", "release"]

MAIN = """//! Loads a save and saves it again.

mod types;

use types::Root;

fn main() {{
    let path = std::env::args().nth(1).expect("a path");
    let bytes = std::fs::read(&path).expect("a file");
    let root: Root = {load};
    let bytes: Vec<u8> = {save};
    std::fs::write(path, bytes).expect("a folder to write to");
}}
"""

MANIFEST = """[package]
name = "{name}"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
{dependencies}
"""


def make(folder, name, shape, contender):
    """Writes the crate."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    dependencies = "\n".join(f"{key} = {value}" for key, value in contender.dependencies.items())
    (folder / "Cargo.toml").write_text(MANIFEST.format(name=name, dependencies=dependencies))
    types = "\n\n".join(SHAPES[shape]()).replace("DERIVE", contender.derives)
    head = f"#![allow(dead_code, unused_imports, missing_docs)]\n{contender.uses}\n\n"
    (folder / "src" / "types.rs").write_text(head + types + "\n")
    (folder / "src" / "main.rs").write_text(MAIN.format(load=contender.load, save=contender.save))


class Cost:
    """CPU seconds, and MiB of the largest process."""

    def __init__(self, seconds, mebibytes):
        self.seconds, self.mebibytes = seconds, mebibytes


def cargo(folder, target, arguments, timeout):
    """Runs cargo in a crate; fails if it does, or if it takes longer."""
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    # The lints and flags of whoever measures are not those of a user.
    for name in ("RUSTFLAGS", "CARGO_INCREMENTAL", "CARGO_PROFILE_DEV_DEBUG"):
        environment.pop(name, None)
    command = ["timeout", str(timeout), "cargo", *arguments, "--quiet"]
    log = open(folder / "cargo.log", "w")
    pid = subprocess.Popen(command, cwd=folder, env=environment, stderr=log).pid
    # The usage of the process and of all that it waited for; the memory is the largest of them.
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 124:
        raise TimeoutError(f"not built after {timeout} s")
    if code != 0:
        log = (folder / "cargo.log").read_text()[-4000:]
        raise RuntimeError(f"`cargo {' '.join(arguments)}` failed in {folder}:\n{log}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def measure(work, shape, contender, modes, timeout, rounds):
    """The costs by column, and the stripped size of the release program in KiB."""
    name = f"build-{shape}-{contender}".replace(" ", "-").replace("+", "and")
    folder, target = work / name, work / "target" / contender.replace(" ", "-")
    make(folder, name, shape, CONTENDERS[contender])
    main = folder / "src" / "main.rs"
    whole = main.read_text()
    costs, size = {}, None
    for mode in modes:
        # The dependencies, by a program without types.
        main.write_text("fn main() {}\n")
        cargo(folder, target, MODES[mode], 1800)
        taken = []
        try:
            for number in range(rounds + 1):
                main.write_text(f"{whole}// change {number}\n")
                taken.append(cargo(folder, target, MODES[mode], timeout))
        except (TimeoutError, RuntimeError) as error:
            # A rival's debug information can be more than a linker takes.
            print(f"{contender}, {shape}, {mode}: {error}", file=sys.stderr)
            continue
        first, *later = taken
        if mode != "release":
            costs[f"{mode}, first"] = first
        costs[mode] = sorted(later, key=lambda cost: cost.seconds)[rounds // 2]
        if mode == "release":
            stripped = folder / "stripped"
            shutil.copy(target / "release" / name, stripped)
            subprocess.run(["strip", str(stripped)], check=True)
            size = stripped.stat().st_size // 1024
    return costs, size


def cells(rows):
    """The figures of each contender by column, without those that were not measured."""
    for contender, (costs, size) in rows.items():
        figures = {column: costs[column].seconds for column in COLUMNS if column in costs}
        if costs:
            figures["memory"] = max(cost.mebibytes for cost in costs.values())
        if size:
            figures["size"] = size
        yield contender, figures


def table(shape, rows, baseline):
    """Prints a table in Markdown."""
    print(f"\n| {shape} | {', s | '.join(COLUMNS)}, s | memory, MiB | size, KiB |")
    print("| --- " * (len(COLUMNS) + 3) + "|")
    figures = dict(cells(rows))
    first = figures.get(baseline, {})
    for contender, row in figures.items():
        shown = []
        for column in COLUMNS + ["memory", "size"]:
            number = f"{row[column]:.0f}" if column in ("memory", "size") and column in row else ""
            if column in COLUMNS:
                ratio = f" ({row[column] / first[column]:.2f})" if column in row and column in first else ""
                number = f"{row[column]:.1f}{ratio}" if column in row else "-"
            shown.append(number or "-")
        print(f"| {contender} | {' | '.join(shown)} |", flush=True)


def csv(shape, rows):
    """Prints figures as `figures.csv` has them."""
    for contender, row in cells(rows):
        role = "ours" if contender == "persist" else "rival"
        for column, figure in row.items():
            print(f'"builds: {shape}","{contender}","{column}",{role},{figure:.4f},', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", action="append", choices=SHAPES, help="only this crate; can be repeated")
    parser.add_argument("--with", dest="contender", action="append", choices=CONTENDERS, help="only this contender")
    parser.add_argument("--mode", action="append", choices=MODES, help="only this build")
    parser.add_argument("--rounds", type=int, default=3, help="builds of each kind, of which the median counts")
    parser.add_argument("--timeout", type=int, default=600, help="seconds after which a build is given up")
    parser.add_argument("--work", type=pathlib.Path, default=HERE / "target", help="where the crates are made")
    parser.add_argument("--csv", action="store_true", help="figures for programs instead of tables")
    parser.add_argument("--most-memory", type=float, help="fail if a process takes more MiB")
    parser.add_argument("--most-seconds", type=float, help="fail if a build takes more CPU")
    options = parser.parse_args()
    # Cargo runs in the crates.
    options.work = options.work.resolve()

    failed = False
    for shape in options.shape or SHAPES:
        rows = {}
        for contender in options.contender or CONTENDERS:
            modes = options.mode or list(MODES)
            rows[contender] = measure(options.work, shape, contender, modes, options.timeout, options.rounds)
            for mode in modes:
                costs = rows[contender][0]
                cost = costs.get(f"{mode}, first", costs.get(mode))
                limits = (options.most_memory, options.most_seconds)
                if any(limits) and cost is None:
                    print(f"{contender} did not build {shape}", file=sys.stderr)
                    failed = True
                elif options.most_memory and cost.mebibytes > options.most_memory:
                    print(f"{contender}, {shape}, {mode}: {cost.mebibytes:.0f} MiB", file=sys.stderr)
                    failed = True
                elif options.most_seconds and cost.seconds > options.most_seconds:
                    print(f"{contender}, {shape}, {mode}: {cost.seconds:.0f} s of CPU", file=sys.stderr)
                    failed = True
        if options.csv:
            csv(shape, rows)
        else:
            table(shape, rows, "serde + bincode")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
