#!/usr/bin/env python3
"""Measures the commands of `persist` on large saves: seconds, and the most memory that the process had.

    python3 benches/tools.py [--times 30] [--only get,set] [--cpu] [--program PATH] [--folder PATH]

It builds the command and two saves with `persist-cli/examples/large.rs`: a graph of 3,000,000 objects and a world of
as many. Each row is the faster of two runs. With `--cpu` the seconds are those of the processor, which other programs
change less. The table is that of `docs/internals/performance.md`.
"""
import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# The row, the arguments of the command, and what a row of a world has in place of them.
ROWS = [
    ("verify", "verify SAVE", None),
    ("stats", "stats SAVE", None),
    ("info", "info SAVE", None),
    ("schema", "schema SAVE", None),
    ("get of a field", "get SAVE realm.Person[1000].name", "get SAVE World/#1000:Transform.x"),
    ("set of a field", "set COPY realm.Person[1000].age 7", "set COPY World/#1000:Transform.x 7"),
    ("diff of two", "diff SAVE CHANGED", None),
    ("convert to JSON", "convert SAVE -o JSON --force", None),
    ("convert from JSON", "convert JSON -o BACK --force", None),
    ("convert to CSV", "convert SAVE --to csv -o TABLES --force", None),
]


def run(program, args, folder, is_cpu=False):
    """Runs a command; returns its seconds and the KiB that it had at most."""
    started = time.monotonic()
    process = subprocess.Popen([program, *args], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"persist {' '.join(args)}: {errors}")
    return usage.ru_utime + usage.ru_stime if is_cpu else seconds, usage.ru_maxrss


def measure(program, save, folder, names, is_world, rounds, is_cpu):
    files = {"SAVE": save, "COPY": "copy.sav", "CHANGED": "changed.sav", "JSON": "save.json", "BACK": "back.sav"}
    files["TABLES"] = "tables"
    found = {}

    def command(text):
        return [files.get(word, word) for word in text.split()]

    def text_of(row):
        _, of_graph, of_world = next(known for known in ROWS if known[0] == row)
        return of_world if is_world and of_world else of_graph

    for name, _, _ in ROWS:
        if names and not any(part in name for part in names):
            continue
        text = text_of(name)
        if "CHANGED" in text:
            shutil.copy(folder / save, folder / "changed.sav")
            run(program, command(text_of("set of a field").replace("COPY", "CHANGED")), folder)
        if "convert JSON" in text and not (folder / "save.json").exists():
            run(program, command("convert SAVE -o JSON --force"), folder)
        best = None
        for _ in range(rounds):
            if "COPY" in text:
                shutil.copy(folder / save, folder / "copy.sav")
            result = run(program, command(text), folder, is_cpu)
            best = min(best, result) if best else result
            for backup in folder.glob("copy.sav.bak*"):
                backup.unlink()
        found[name] = best
        print(f"  {name:20} {best[0]:6.2f} s {best[1] // 1024:6} MB", file=sys.stderr)
    # In pieces: a child counts the memory of the process that it was forked from.
    if (folder / "back.sav").exists() and not filecmp.cmp(folder / "back.sav", folder / save, shallow=False):
        sys.exit("the save that came back from JSON is another one")
    for pattern in ("copy.sav*", "changed.sav*", "save.json", "back.sav"):
        for made in folder.glob(pattern):
            made.unlink()
    shutil.rmtree(folder / "tables", ignore_errors=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30, help="how many times 100,000 objects")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cpu", action="store_true", help="show the time of the processor")
    parser.add_argument("--only", default="", help="rows that have one of these words, with commas between them")
    parser.add_argument("--saves", default="graph,world", help="the saves to measure")
    parser.add_argument("--program", help="the command; built if it is left out")
    parser.add_argument("--folder", help="where the saves are, and stay")
    args = parser.parse_args()
    target = Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target")) / "release"
    if not args.program:
        build = ["cargo", "build", "--release", "-p", "persist-cli", "--bin", "persist", "--example", "large"]
        subprocess.run(build, cwd=TOP, check=True)
    program = str(Path(args.program or target / "persist").resolve())
    names = [name for name in args.only.split(",") if name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.folder or temporary)
        columns = {}
        for kind in args.saves.split(","):
            save = f"{kind}.sav"
            if not (folder / save).exists():
                kind_args = ["world"] if kind == "world" else []
                subprocess.run([target / "examples" / "large", folder / save, str(args.times), *kind_args], check=True)
            print(f"{kind}: {(folder / save).stat().st_size / 1e6:.0f} MB", file=sys.stderr)
            columns[kind] = measure(program, save, folder, names, kind == "world", args.rounds, args.cpu)
    print("| command |" + "".join(f" {kind}: time | memory |" for kind in columns))
    print("| --- |" + " ---: | ---: |" * len(columns))
    for name, _, _ in ROWS:
        if any(name in found for found in columns.values()):
            cells = [found.get(name) for found in columns.values()]
            shown = [f" {cell[0]:.1f} s | {cell[1] // 1024} MB |" if cell else " | |" for cell in cells]
            print(f"| {name} |" + "".join(shown))


if __name__ == "__main__":
    main()
