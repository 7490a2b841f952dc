#!/usr/bin/env python3
"""Writes families of types, as a team writes them over three releases, and what each old value means in the last one.

    generate.py SEED TREES > families.rs

The model is the one of a developer, not of the library. A field has a quantity, which never changes: an amount of
copper, and the unit in which a version counts it. A release changes the name, the type, the unit or the container of a
field, and writes the attributes of the guide for it. `told` is true for a family whose developer followed the guide in
each release: its saves load. In the others one thing was left as it was. Their saves load with the same quantity, or
are refused.
"""

import random
import sys
from copy import deepcopy

LIMITS = {"u8": 2**8, "u16": 2**16, "u32": 2**32, "u64": 2**64, "i32": 2**31, "i64": 2**63, "f64": 2**53}
UNITS = [1, 10, 100, 1000]
# What a number becomes by itself, if it fits.
IMPLICIT = {
    "u8": ["u16", "u32", "u64", "i32", "i64", "f64"],
    "u16": ["u32", "u64", "i32", "i64", "f64", "u8"],
    "u32": ["u64", "i64", "f64", "u16", "i32"],
    "u64": ["i64", "u32", "f64"],
    "i32": ["i64", "f64", "u32"],
    "i64": ["u64", "i32", "f64"],
    "f64": [],
    "String": [],
}
MOODS = ["Calm", "Angry", "Sad"]


class Type:
    """The type of one version of a field: containers around a number, a text, or a module's type."""

    def __init__(self, kind, unit, wraps=(), module=False):
        self.kind, self.unit, self.wraps, self.module = kind, unit, tuple(wraps), module

    def fits(self, quantity):
        amount = quantity // self.unit
        return self.kind == "String" or amount < LIMITS[self.kind]

    def stored(self):
        return self.written(self.kind)

    def rust(self):
        return self.written("Amount" if self.module else self.kind)

    def written(self, inner):
        for wrap in reversed(self.wraps):
            inner = {"Option": "Option<%s>", "Vec": "Vec<%s>", "Box": "Box<%s>", "New": "Coins<%s>"}[wrap] % inner
        return inner

    def value(self, quantity):
        """The expression of a quantity that is a number."""
        return self.wrapped("Amount(%d)" % quantity if self.module else self.inner(str(quantity // self.unit)))

    def inner(self, amount, is_literal=True):
        if self.kind == "String":
            return "%s_i128.to_string()" % amount if is_literal else "(%s).to_string()" % amount
        return ("%s_i128 as %s" if is_literal else "(%s) as %s") % (amount, self.kind)

    def wrapped(self, inner):
        for wrap in reversed(self.wraps):
            inner = {"Option": "Some(%s)", "Vec": "vec![%s]", "Box": "Box::new(%s)", "New": "Coins(%s)"}[wrap] % inner
        return inner

    def amount_of(self, name):
        """The expression of the amount in a value of this type, an `i128`."""
        for wrap in self.wraps:
            name = {
                "Option": "%s.unwrap()",
                "Vec": "%s.into_iter().next().unwrap()",
                "Box": "(*%s)",
                "New": "%s.0",
            }[wrap] % name
        return "%s.parse::<i128>().unwrap()" % name if self.kind == "String" else "(%s as i128)" % name

    def from_quantity(self, quantity):
        """The expression of the value whose quantity is an expression."""
        return self.wrapped(self.inner("%s / %d" % (quantity, self.unit), False))

    def is_same(self, other):
        return self.is_stored_as(other) and self.unit == other.unit

    def is_stored_as(self, other):
        def shape(it):
            return [wrap for wrap in it.wraps if wrap != "Box"], it.kind

        return shape(self) == shape(other)


class Field:
    """One field over the versions that have it."""

    def __init__(self, name, ty, quantity, born):
        self.name, self.type, self.quantity, self.born = name, ty, quantity, born
        self.aliases, self.old, self.taken = [], [], []
        # `old` has (version or None, its type): a convert from it. `taken` has types that are taken as they are.
        self.default, self.number = None, None
        # What released versions of the class have stored: (version, type).
        self.history = []


class Purse:
    """A struct in a field, of versions of its own: the unit of its coins in each."""

    def __init__(self, random, quantity):
        self.units, self.is_converted = [random.choice(UNITS)], random.random() < 0.5
        # As that of a field.
        self.quantity, self.born, self.number = quantity, 1, 199
        # True while the field is there; a step takes the coins out of it, and may ask for its version.
        self.is_held, self.is_asked, self.is_class = True, False, True

    def rust(self, name, functions):
        said, field = ['class = "%sPurse"' % name], ""
        steps = []
        for version, (old, new) in enumerate(zip(self.units, self.units[1:]), 1):
            steps.append("%d = coins_%d" % (version, version))
            if self.is_converted:
                functions.append("fn coins_%d(old: u64) -> u64 { old * %d / %d }" % (version, old, new))
            else:
                body = 'let old = take(it, &["coins"]).unwrap(); it.set("coins", (old * %d / %d) as u64);' % (old, new)
                functions.append("fn coins_%d(it: &mut Record, _: u32) { %s }" % (version, body))
        if steps:
            said.append("version = %d" % len(self.units))
            if self.is_converted:
                field = "#[persist(convert(%s))] " % ", ".join(steps)
            else:
                said.append("migrate(%s)" % ", ".join(steps))
        derives = "#[derive(Persist, Clone, Debug, PartialEq)] #[persist(%s)]" % ", ".join(said)
        return "%s pub struct Purse { %spub coins: u64 }" % (derives, field)

    def step(self, name, ty):
        """The lines of a step that takes the coins out of the purse."""
        arms = "".join("%d => %d, " % (i, unit) for i, unit in enumerate(self.units[:-1], 1))
        unit = "match purse.version() { %s_ => %d }" % (arms, self.units[-1]) if self.is_asked else str(self.units[-1])
        line = 'if let Some(Value::Struct(mut purse)) = it.take("purse") { let old = take(&mut purse, &["coins"])'
        return '%s.unwrap() * %s; it.set("%s", %s); }' % (line, unit, name, ty.from_quantity("old"))


class Class:
    """A struct over the versions."""

    def __init__(self, random, name, prefix):
        self.random, self.name, self.prefix = random, name, prefix
        self.version, self.fields, self.steps, self.removed = 1, [], {}, []
        self.count, self.told = 0, True
        for _ in range(random.randint(1, 3)):
            self.fields.append(self.new_field(1))
        self.is_versioned = random.random() < 0.35
        self.purse = Purse(random, self.quantity()) if random.random() < 0.4 else None

    def fresh(self):
        self.count += 1
        return "%s%d" % (self.prefix, self.count)

    def quantity(self):
        return self.random.choice([0, 7, 12, 40, 250]) * 1000

    def new_field(self, born):
        random, quantity = self.random, self.quantity()
        kind = random.choice(["u8", "u16", "u32", "u64", "i32", "i64", "f64", "String", "u32", "u64"])
        ty = Type(kind, random.choice(UNITS), random.choice([(), (), (), ("Option",), ("Vec",), ("New",)]))
        if random.random() < 0.12:
            ty = Type(random.choice(["u16", "u32"]), random.choice([100, 1000]), (), True)
        while not ty.fits(250_000):
            ty = Type(random.choice(["u32", "u64"]), ty.unit, ty.wraps, ty.module)
        return Field(self.fresh(), ty, quantity, born)

    def release(self, version):
        """Edits the class for the next release."""
        self.is_raised = False
        for field in self.fields:
            field.history.append((self.version, field.type))
        for field in self.fields[:]:
            if self.random.random() < 0.75:
                self.edit(field, version)
        if self.purse and self.purse.is_class:
            self.edit_purse()
        if self.random.random() < 0.3:
            new = self.new_field(version)
            new.default = new.quantity
            self.fields.append(new)
        if self.is_versioned and not self.is_raised:
            self.raise_version()
        self.random.shuffle(self.fields)

    def edit_purse(self):
        """Counts the coins in another unit, takes them out, or leaves them."""
        purse, chance = self.purse, self.random.random()
        if chance < 0.4:
            purse.units.append(self.random.choice([unit for unit in UNITS if unit != purse.units[-1]]))
            # The step that takes them out was written for the purses of before, and does not say so.
            if not purse.is_held and not purse.is_asked:
                self.told = False
        elif chance < 0.8 and purse.is_held:
            purse.is_held, purse.is_asked = False, self.random.random() < 0.6
            if len(purse.units) > 1 and not purse.is_asked:
                self.told = False
            # Of a class that the program does not have any more only the lock could say that it had versions.
            purse.is_class = not purse.is_asked or self.random.random() < 0.5
            name, ty = self.fresh(), Type(self.random.choice(["u64", "i64", "f64"]), self.random.choice(UNITS))
            self.steps.setdefault(self.raise_version(), []).append(purse.step(name, ty))
            field = Field(name, ty, purse.quantity, purse.born)
            field.number = purse.number
            self.fields.append(field)

    def raise_version(self):
        if not self.is_raised:
            self.is_raised, self.version = True, self.version + 1
        return self.version - 1

    def edit(self, field, version):
        edits = [self.rename, self.widen, self.wrap, self.recount, self.recount, self.migrate, self.remove]
        self.random.choice(edits)(field, version)

    def rename(self, field, _):
        field.aliases.append(field.name)
        field.name = self.fresh()

    def retype(self, field, ty):
        """Gives a field a type that takes the old one as it is."""
        old = field.type
        # An older unit that was stored as the same kind: nobody but the lock can know.
        if any(it.is_stored_as(ty) and it.unit != ty.unit for _, it in field.history):
            return
        if old.is_stored_as(ty):
            field.type = ty
            return
        if not (field.old or field.taken or old.module or ty.module):
            field.type = ty
            return
        # The field names its kinds: today's must be named, too. One in three forgets it.
        is_ambiguous = any(it.is_stored_as(ty) for _, it in field.old) or any(
            it.is_stored_as(ty) for it in field.taken
        )
        if is_ambiguous:
            return
        if self.random.random() < 0.35:
            self.told = False
        else:
            field.taken.append(old)
        field.type = ty

    def widen(self, field, _):
        old = field.type
        kinds = [kind for kind in IMPLICIT[old.kind] if Type(kind, old.unit).fits(250_000)]
        if old.module:
            kinds = [kind for kind in kinds if kind in ("u16", "u32", "u64")]
        if kinds:
            self.retype(field, Type(self.random.choice(kinds), old.unit, old.wraps, old.module))

    def wrap(self, field, _):
        old = field.type
        if old.module or len(old.wraps) > 1:
            return
        wraps = [("Option",), ("Vec",), ("Box",)] + ([("New",)] if not old.wraps else [])
        self.retype(field, Type(old.kind, old.unit, self.random.choice(wraps) + old.wraps))

    def other_type(self, field):
        kinds = ["u32", "u64", "i64", "i32", "f64", "String"]
        kind = self.random.choice(kinds)
        units = [unit for unit in UNITS if unit != field.type.unit]
        return Type(kind, self.random.choice(units), self.random.choice([(), (), ("Option",), ("New",)]))

    def recount(self, field, version):
        """Changes the unit, by a `convert`."""
        old = field.type
        if old.module:
            # A module restores what it stores: another unit behind a wider number is refused, as nobody has said more.
            unit = self.random.choice([unit for unit in UNITS if unit != old.unit])
            kind = {"u16": "u32", "u32": "u64", "u64": "u64"}[old.kind]
            is_known = any(it.kind == kind for _, it in field.history)
            if not is_known and not field.taken:
                field.type, self.told = Type(kind, unit, (), True), False
            return
        ty = self.other_type(field)
        if self.is_versioned:
            if any(since is None for since, _ in field.old):
                return
            after = [it for _, it in field.history[1:]] + [ty]
            changes = [(last, it, new) for (last, it), new in zip(field.history, after)]
            last = self.raise_version()
            field.old = [(v, it) for v, it, new in changes if v == last or not it.is_same(new)]
            field.taken, field.type = [], ty
            return
        stored = []
        for _, it in field.history:
            if not any(it.is_stored_as(known) for known in stored):
                stored.append(it)
        if any(it.is_stored_as(ty) for it in stored):
            return
        # What was taken as it is goes through a function of its own.
        field.old, field.taken, field.type = [(None, it) for it in stored], [], ty

    def migrate(self, field, version):
        """Changes name and unit, by a step that takes the old value."""
        old = field.type
        if old.module or old.wraps or old.kind == "String":
            return
        # The step cannot know in which unit a value was stored that a `convert` had brought on.
        if any(it.unit != old.unit for _, it in field.history):
            return
        ty = Type(self.random.choice(["u32", "u64", "i64", "f64"]), self.random.choice(UNITS))
        # With a `convert` that has no version either could come first: the load says so.
        last = self.raise_version()
        name = self.fresh()
        names = ", ".join('"%s"' % it for it in [field.name] + field.aliases)
        lines = 'if let Some(old) = take(it, &[%s]) { let old = old * %d; it.set("%s", %s); }'
        self.steps.setdefault(last, []).append(lines % (names, old.unit, name, ty.from_quantity("old")))
        if field.old or any(it.wraps or it.kind == "String" for _, it in field.history):
            self.told = False
        field.aliases, field.old, field.taken, field.history = [], [(v, t) for v, t in field.old if v is not None], [], []
        field.name, field.type = name, ty

    def remove(self, field, version):
        if len(self.fields) < 2 or self.random.random() < 0.5:
            return
        self.fields.remove(field)
        if self.random.random() < 0.5:
            self.removed.append(field.name)

    def snapshot(self):
        return self.version, self.fields, self.steps, self.removed, self.purse


def attributes(index, field, functions):
    said = []
    for alias in field.aliases:
        said.append('alias = "%s"' % alias)
    if field.default is not None:
        said.append("default = %s" % field.type.value(field.default))
    if field.type.module:
        said.append('with = %s_of_%d' % (field.type.kind, field.type.unit))
    converts = []
    for number, (last, old) in enumerate(field.old):
        name = "from_%d_%d" % (index, number)
        # Versioned functions take what the one before returns.
        after = [it for since, it in field.old[number + 1:] if since is not None] if last is not None else []
        to = after[0] if after else field.type
        body = "let old = %s * %d; %s" % (old.amount_of("old"), old.unit, to.from_quantity("old"))
        functions.append("fn %s(old: %s) -> %s { %s }" % (name, old.rust(), to.rust(), body))
        converts.append(name if last is None else "%d = %s" % (last, name))
    converts += ["as %s" % it.stored() for it in field.taken]
    if converts:
        said.append("convert(%s)" % ", ".join(converts))
    return "#[persist(%s)] " % ", ".join(said) if said else ""


def program(name, snapshot):
    version, fields, steps, removed, purse = snapshot
    functions, said = [], ['class = "%s"' % name, "component"]
    if version > 1:
        said.append("version = %d" % version)
    if steps:
        every = range(1, version)
        said.append("migrate(%s)" % ", ".join("%d = step_%d" % (it, it) for it in every))
        for it in every:
            argument = "it" if it in steps else "_"
            functions.append("fn step_%d(%s: &mut Record, _: u32) { %s }" % (it, argument, " ".join(steps.get(it, []))))
    said += ['removed = "%s"' % it for it in removed]
    body = "".join(
        "%spub %s: %s, " % (attributes(i, field, functions), field.name, field.type.rust())
        for i, field in enumerate(fields)
    )
    if purse and purse.is_class:
        body += "pub purse: Purse, " if purse.is_held else "#[persist(default)] pub purses: Vec<Purse>, "
        functions.append(purse.rust(name, functions))
    derives = "#[derive(Persist, Clone, Debug, PartialEq)] #[persist(%s)]" % ", ".join(said)
    return "%s pub struct Case { %s} %s" % (derives, body, " ".join(functions))


def value(snapshot, quantities):
    _, fields, _, _, purse = snapshot
    values = ["%s: %s" % (it.name, it.type.value(quantities.get(id_of(it), it.quantity))) for it in fields]
    if purse and purse.is_held:
        coins = quantities.get(id_of(purse), purse.quantity) // purse.units[-1]
        values.append("purse: Purse { coins: %d }" % coins)
    elif purse and purse.is_class:
        values.append("purses: vec![]")
    return "Case { %s }" % ", ".join(values)


def id_of(field):
    return (field.born, field.quantity, field.number)


def numbered(it, release):
    for i, field in enumerate(it.fields):
        if field.number is None:
            field.number = 100 * release + i


def tree(seed, number):
    """One first version, BRANCHES second ones, and as many third ones of each: a family for each of the last."""
    rng = random.Random("%s/%d" % (seed, number))
    first = Class(rng, "F%d" % number, rng.choice(["a", "gold", "n"]))
    numbered(first, 1)
    # Two values: the second is what an edit makes of the first.
    all = first.fields + ([first.purse] if first.purse else [])
    other = {id_of(field): (field.quantity + 3000) % 253_000 for field in all}
    lines, runs = ["mod tree_%d { use super::*;" % number], []

    def module(name, it, has_values):
        values = " ".join(
            "pub fn %s() -> Case { %s }" % (what, value(it.snapshot(), quantities))
            for what, quantities in ([("first", {}), ("second", other)] if has_values else [])
        )
        lines.append("  pub mod %s { use super::*; %s %s }" % (name, program(it.name, it.snapshot()), values))

    def path(name):
        return "tree_%d::%s" % (number, name)

    module("v1", first, True)
    runs.append("    let old = first([%s::first(), %s::second()]);" % (path("v1"), path("v1")))
    for i in range(BRANCHES):
        second = deepcopy(first)
        second.random = random.Random("%s/%d/%d" % (seed, number, i))
        second.release(2)
        numbered(second, 2)
        module("v2_%d" % i, second, False)
        runs.append("    let between = Release::of::<%s::Case>();" % path("v2_%d" % i))
        for j in range(BRANCHES):
            third = deepcopy(second)
            third.random = random.Random("%s/%d/%d/%d" % (seed, number, i, j))
            third.release(3)
            numbered(third, 3)
            name = "v3_%d_%d" % (i, j)
            module(name, third, True)
            runs.append("    let new = last([%s::first(), %s::second()]);" % (path(name), path(name)))
            about = '"F%d", "%s", %s' % (number, path(name), str(third.told).lower())
            runs.append("    found.add(Family::new(%s).run(&old, &between, &new));" % about)
    lines.append("}")
    return lines, runs


BRANCHES = 3


def main():
    seed, trees = sys.argv[1], int(sys.argv[2])
    print("// Written by generate.py %s %d.\n\nuse super::*;\n" % (seed, trees))
    runs = []
    for number in range(trees):
        lines, calls = tree(seed, number)
        print("\n".join(lines))
        print("fn run_%d(found: &mut Found) {\n%s\n}" % (number, "\n".join(calls)))
        runs.append("    run_%d(found);" % number)
    print("pub(super) fn run(found: &mut Found) {\n%s\n}" % "\n".join(runs))


main()
