#!/usr/bin/env python3
"""Reads a save by docs/reference/format.md alone; shows that the page is enough.

    python3 reader.py FILE...            prints header, classes and records of each save
    python3 reader.py --check FILE...    verifies only, one line for each file

A save is printed only after all of it was verified. Whatever the page does not allow ends in one line on
standard error, with the offset of the fault, and in exit status 1. The standard library is all it needs, but for blocks
compressed by Zstandard before Python 3.14: without the module zstandard only their checksums are verified, which it says.
"""

import argparse
import os
import struct
import sys
import zlib

MAGIC = b"\x89PST\r\n\x1a\n"
FORMAT = 1
BLOCK_OF_ITEMS, LZ4, ZSTANDARD, DEFINITIONS, TRAILER, TRAILER_BYTES, SEPARATOR = 0x01, 0x02, 0x03, 0x04, 0x7F, 29, 0x1E
LZ4_HEAD, LZ4_PART, ZSTANDARD_MAGIC = bytes.fromhex("04224d184040c0"), 65_536, bytes.fromhex("28b52ffd")
ITEM_LIMIT = 2**32 - 131_073  # bytes of one payload or body
VARIANT_LIMIT, ID_LIMIT, KIND_NESTING = 65_536, 2**63 - 1, 64
DEVICES_LIMIT, DEVICE_BYTES, SAVES_LIMIT = 256, 255, 2**63 - 1
CELLS = "{}", "RefCell<{}>", "Cell<{}>", "Mutex<{}>", "RwLock<{}>", "OnceCell<{}>", "OnceLock<{}>"
HOLDERS = {pointer << 4 | cell: f"{name}<{around}>"
           for pointer, name in ((1, "Rc"), (2, "Arc")) for cell, around in enumerate(CELLS)}
OWN_CLASS = 5, 6  # cells that belong to the class of the value, too
MARK = 0x80  # bit 7 of a holder: added by the program; of a reference: weak
STRUCT, ENUM, BARE = range(3)
SUMS = 0x05  # a block that only a salvage needs
SINCE = 0x80  # bit 7 of a form: the lowest version follows that may read the class
OWN_ID = 0x40  # bit 6 of a form: the id of the class follows
MADE_UP = 2  # version of the class of a made-up value
UNKNOWN_AT = "persist.UnknownAt"  # class of what was kept of a part of an object
PAGE = 0x01  # the holder of a page
BLOCK_FRAME = 9  # bytes of a block around its content

# This program's own limits: values in values, and values that have no bytes, whose number nothing else
# bounds. A list or array of such values counts as one of them, since nobody goes through it.
VALUE_NESTING, NO_BYTES_LIMIT = 1000, 2**22
CONTENT_LIMIT = 2**30  # bytes that one compressed block may hold

UNIT, BOOL, CHAR, F32, F64, TEXT = 0x00, 0x01, 0x02, 0x0D, 0x0E, 0x0F
OPTION, LIST, SET, MAP, ARRAY, TUPLE, CLASS, REFERENCE, DYNAMIC, TRAIT_REFERENCE, HANDLE, UNKNOWN, COMPACT = range(0x10, 0x1D)
U32, U64 = 0x05, 0x06
ENTRY_KINDS = [(COMPACT, U64), (COMPACT, U32), (COMPACT, U64), (U32, 0)]  # of first, objects, position, digest
NAMES = ("unit bool char u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 text "
         "option list set map array tuple class reference dynamic reference handle unknown compact").split()
STATES = "null", "live", "dead"
OBJECTS_OF_WORLDS = "persist.objects"  # the arena whose handles are ids


def class_id(name):
    """The id of a class to which the program gave none: FNV-1a of its name."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


PAGE_ID, ENTRY_ID = class_id("persist.Page"), class_id("persist.PageEntry")


class Refused(Exception):
    """The save is not as the page says, at an offset."""

    def __init__(self, at, why):
        super().__init__(f"byte {at}: {why}")


def refuse(fault, at, why):
    if fault:
        raise Refused(at, why)


def in_block(start, error):
    """A fault of what a compressed block holds, with the place of the block."""
    return Refused(start, f"in the compressed block here, at its {error}")


def show(name):
    """A name for a line of output: without control characters, and not endlessly long."""
    name = name if len(name) <= 100 else name[:97] + "..."
    return name if name.isprintable() else repr(name)


def decode(raw, at):
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(at, "text is not UTF-8") from None


class Cursor:
    """Reads forward in data[pos:end]; `what` names that part in messages."""

    def __init__(self, data, pos, end, what):
        self.data, self.start, self.pos, self.end, self.what = data, pos, pos, end, what

    def left(self):
        return self.end - self.pos

    def skip(self, size):
        if size > self.left():
            raise Refused(self.pos, f"{self.what} is cut short: {size} bytes wanted, {self.left()} left")
        self.pos += size
        return self.pos - size

    def take(self, size):
        start = self.skip(size)
        return self.data[start:self.pos]

    def part(self, what):
        """A u32 length, and a cursor for so many bytes, which this one leaves behind."""
        size = self.integer(4)
        return Cursor(self.data, self.skip(size), self.pos, what)

    def integer(self, size, signed=False):
        return int.from_bytes(self.take(size), "little", signed=signed)

    def count(self):
        at, value = self.pos, self.integer(1)
        if value > 247:
            size = value - 247
            value = self.integer(size)
            if value <= 247 or value >> 8 * (size - 1) == 0:
                raise Refused(at, "count not in its shortest form")
        return value

    def text(self):
        return decode(self.take(self.count()), self.pos)

    def choice(self, what):
        value = self.integer(1)
        if value > 1:
            raise Refused(self.pos - 1, f"{value} is no {what}")
        return value

    def checksum(self, start, what):
        """The u32 that follows is the checksum of everything from `start` to it."""
        computed = zlib.crc32(memoryview(self.data)[start:self.pos])
        if self.integer(4) != computed:
            raise Refused(start, f"the checksum of {what} is wrong")

    def finish(self):
        if self.left():
            raise Refused(self.pos, f"{self.left()} bytes too many in {self.what}")


def held(holder, name):
    """A value of a class in a holder, as a Rust programmer writes it."""
    if not holder & ~MARK:
        return name
    belongs = holder & 0x0F in OWN_CLASS
    return HOLDERS[holder & 0xF0 & ~MARK if belongs else holder & ~MARK].format(name)


def lz4(frame, length):
    """The content of one LZ4 frame. Faults are ValueErrors, or IndexErrors of a frame that is cut short."""
    if frame[:7] != LZ4_HEAD:
        raise ValueError("its frame has another head")
    out, pos = bytearray(), 7
    while size := int.from_bytes(frame[pos:pos + 4], "little"):
        part, pos, start = frame[pos + 4:pos + 4 + (size & 0x7FFFFFFF)], pos + 4 + (size & 0x7FFFFFFF), len(out)
        if size >> 31:
            out += part
        else:
            lz4_part(part, out)
        if len(out) - start > LZ4_PART or len(out) > length:
            raise ValueError("it holds too much")
    if pos + 4 != len(frame) or len(out) != length:
        raise ValueError("its length is wrong")
    return bytes(out)


def lz4_part(part, out):
    pos = 0

    def long(nibble):
        nonlocal pos
        byte = 255 if nibble == 15 else 0
        while byte == 255:
            byte, pos = part[pos], pos + 1
            nibble += byte
        return nibble

    while True:
        token, pos = part[pos], pos + 1
        literals = long(token >> 4)
        if pos + literals > len(part):
            raise IndexError
        out += part[pos:pos + literals]
        pos += literals
        if pos == len(part):
            return
        back, pos = part[pos] | part[pos + 1] << 8, pos + 2
        size = 4 + long(token & 15)
        if not 1 <= back <= len(out):
            raise ValueError("it refers to what is not there")
        for i in range(0, size, back):
            out += out[-back:len(out) - back + min(back, size - i)]


def zstandard(frame, length):
    """The content of one Zstandard frame, or None if this Python cannot tell."""
    if frame[:4] != ZSTANDARD_MAGIC:
        raise ValueError("its frame has another head")
    try:
        from compression.zstd import ZstdDecompressor as new
        decoder = new()
        content = decoder.decompress(frame, length + 1)
    except ImportError:
        try:
            from zstandard import ZstdDecompressor as new
        except ImportError:
            return None
        decoder = new().decompressobj()
        content = decoder.decompress(frame)
    if len(content) != length or not decoder.eof or decoder.unused_data:
        raise ValueError("its length is wrong")
    return content


class Kind:
    """A kind of value: its tag and what belongs to it; `label` is the name of a trait or an arena. Whether its
    values have no bytes is found later."""

    __slots__ = ("tag", "inner", "number", "holder", "label", "no_bytes")

    def __init__(self, tag, inner=(), number=0, holder=0, label=""):
        self.tag, self.inner, self.number, self.holder, self.label = tag, inner, number, holder, label
        self.no_bytes = None

    def is_plain(self):
        return self.tag <= TEXT or self.tag in (REFERENCE, TRAIT_REFERENCE, HANDLE, COMPACT)

    def name(self, classes):
        inner = ", ".join(kind.name(classes) for kind in self.inner)
        cls = show(classes[self.number - 1].name) if self.tag in (CLASS, REFERENCE) else None
        if self.tag in (REFERENCE, TRAIT_REFERENCE):
            target = cls or "dyn " + show(self.label)
            return ("weak " if self.holder & MARK else "") + held(self.holder, target)
        if self.tag in (DYNAMIC, HANDLE):
            return ("dyn " if self.tag == DYNAMIC else "handle of ") + show(self.label)
        if self.tag == COMPACT:
            return "compact " + NAMES[self.number]
        special = {ARRAY: f"[{inner}; {self.number}]", TUPLE: f"({inner})", CLASS: cls, UNKNOWN: "unknown"}
        return special.get(self.tag) or NAMES[self.tag] + (f"<{inner}>" if inner else "")


class Class:
    """A definition. `groups` has the fields, as pairs of name and kind: of a struct, of each variant, or
    one for a bare value. `mentions` are the numbers of all classes that the definition names, with an
    offset each; `holds` of those among them that it holds by value through tuples and arrays alone."""

    def __init__(self, at):
        self.at, self.mentions, self.holds, self.variants = at, {}, set(), {}
        self.settled, self.under_way, self.no_bytes = False, False, None


class Save:
    """Verifies a save: first its items, then the values of its records, as a definition may stand after a record whose
    class mentions it. Gives the records as lines of text to `out`, if there is one."""

    def __init__(self, data, out=None):
        self.data, self.out, self.without_bytes, self.kept, self.closed = data, out, 0, 0, 0
        self.header, self.classes, self.class_ids, self.records, self.references = {}, [], {}, {}, {}
        self.defined, self.payloads = [], []
        self.has_sums = False
        # Pages by the id of their record, then by the offset of their block in the save without compression.
        self.offset, self.pages, self.page_count = 0, {}, 0
        self.page_class, self.entry_class = None, None
        # Of the current record: its pages that no index has named yet, and the offset of the first page.
        self.unnamed, self.first_page = {}, 0
        # The class that each class number stands for in the current record, from 1.
        self.numbers = ()

    def read(self):
        cursor = Cursor(self.data, 0, len(self.data), "the save")
        self.read_header(cursor)
        while cursor.left() and self.data[cursor.pos] != TRAILER:
            self.read_block(cursor)
        self.read_trailer(cursor)
        cursor.finish()
        if self.closed:
            return
        for number, cls in enumerate(self.classes, 1):
            self.settle(number, cls.at)
        self.find_page_classes()
        for *payload, block in self.payloads:
            try:
                self.read_payload(*payload)
            except Refused as error:
                raise error if block is None else in_block(block, error) from None
        for (target, number, holder), at in self.references.items():
            found = self.records.get(target)
            if found is None and not holder & MARK:
                raise Refused(at, f"strong reference to object {target}, which is not in the save")
            if found is None:
                continue
            # A trait object is of any class.
            if found != (number or found[0], holder & ~MARK):
                raise Refused(at, f"reference to object {target} of another class or holder")

    def read_header(self, cursor):
        refuse(self.data[:8] != MAGIC[:len(self.data)], 0, "not a save: the magic is missing")
        cursor.skip(8)
        version = cursor.integer(2)
        end = 16 + int.from_bytes(self.data[12:16], "little")
        altered = MAGIC + FORMAT.to_bytes(4, "little") + self.data[12:end]
        is_altered = zlib.crc32(altered).to_bytes(4, "little") == self.data[end:end + 4]
        refuse(version > FORMAT and is_altered, 8, "the header is damaged: its checksum is that of another format")
        refuse(version != FORMAT, 8, f"format {version} is {'too new' if version > FORMAT else 'unknown'}")
        flags, fields = cursor.integer(2), cursor.part("the header's fields")
        cursor.checksum(0, "the header")
        refuse(flags, 10, f"flags {flags:#x} are too new")
        while fields.left():
            at, tag, content = fields.pos, fields.integer(1), fields.part("a header field")
            if tag in self.header or tag >= 128:
                raise Refused(at, f"header field {tag} {'is too new' if tag >= 128 else 'stands twice'}")
            if tag == 5:
                self.header[tag] = self.read_devices(content)
                continue
            raw = content.take(content.left())
            refuse(tag == 4 and (len(raw) != 8 or not any(raw)), at, "the generation is malformed")
            self.header[tag] = decode(raw, at) if tag in (1, 2) else int.from_bytes(raw, "little") if tag == 4 else raw

    def read_devices(self, content):
        entries, at = [], content.pos
        while content.left():
            at = content.pos
            name, epoch, saves = content.text(), content.count(), content.count()
            key = name.encode(), epoch
            refuse(len(key[0]) > DEVICE_BYTES, at, f"the name of a device is over {DEVICE_BYTES} bytes")
            refuse(not 1 <= saves <= SAVES_LIMIT, at, f"a device has made {saves} saves")
            refuse(entries and entries[-1][0] >= key, at, "devices are not in order")
            entries.append((key, saves))
        refuse(not 1 <= len(entries) <= DEVICES_LIMIT, at, f"{len(entries)} entries of devices")
        return [(name.decode(), epoch, saves) for (name, epoch), saves in entries]

    def read_block(self, cursor):
        start, tag, content = cursor.pos, cursor.integer(1), cursor.part("the block")
        cursor.checksum(start, "the block")
        refuse(tag not in (BLOCK_OF_ITEMS, LZ4, ZSTANDARD, DEFINITIONS, SUMS), start, f"block tag {tag:#04x} is too new")
        refuse(self.has_sums and tag != DEFINITIONS, start, "a block follows the sums of long blocks")
        self.has_sums = tag == SUMS
        if self.has_sums:
            return
        if tag == DEFINITIONS:
            same = self.closed or content.take(content.left()) == b"".join(self.defined)
            refuse(not same, start, "the definitions are not the same the second time")
            refuse(cursor.left() and self.data[cursor.pos] != TRAILER, cursor.pos, "a block follows the definitions")
            return
        if tag == BLOCK_OF_ITEMS and not self.closed:
            self.read_items(content)
        elif tag != BLOCK_OF_ITEMS:
            size, length = content.left(), content.integer(4)
            refuse(length <= size, start, "the compressed block is not smaller than what it holds")
            refuse(length > CONTENT_LIMIT, start, f"a block holds over {CONTENT_LIMIT} bytes, this reader's limit")
            try:
                inside = (lz4 if tag == LZ4 else zstandard)(content.take(content.left()), length)
            except Exception as error:  # the modules have their own
                raise Refused(start, f"the compressed block is malformed: {error}") from None
            # What is behind a block that cannot be read may need its definitions.
            self.closed += inside is None or self.closed > 0
            if not self.closed:
                try:
                    self.read_items(Cursor(inside, 0, length, "the block"), start)
                except Refused as error:
                    raise in_block(start, error) from None
        else:
            self.closed += 1

    def read_items(self, content, block=None):
        start, offset = content.pos, self.offset
        self.offset += BLOCK_FRAME + content.left()
        while content.left():
            at, number = content.pos, content.count()
            refuse(number > len(self.classes), at, f"record of class {number}, which is not defined yet")
            holder, ident = (content.integer(1), content.count()) if number else (0, 0)
            item = content.part("the payload" if number else "the definition")
            refuse(item.left() > ITEM_LIMIT, at, f"item of {item.left()} bytes is over the limit")
            refuse(content.integer(1) != SEPARATOR, content.pos - 1, "no separator after the item")
            if number:
                self.read_record(at, number, holder, ident)
                if holder == PAGE:
                    refuse(at != start or content.left(), at, f"a page of object {ident} is not alone in its block")
                    head = bytes([BLOCK_OF_ITEMS]) + (content.pos - start).to_bytes(4, "little")
                    digest = zlib.crc32(memoryview(content.data)[start:content.pos], zlib.crc32(head))
                    self.pages.setdefault(ident, {})[offset] = digest
                self.payloads.append((item, at, number, holder, ident, offset, block))
            else:
                self.read_definition(item, at)
                self.defined.append(content.data[at:content.pos])
                item.finish()

    def read_trailer(self, cursor):
        refuse(not cursor.left(), cursor.pos, "the save is cut short: no trailer")
        start = cursor.skip(1)
        told = [cursor.integer(8) for _ in range(3)]
        cursor.checksum(start, "the trailer")
        found = len(self.records) + self.kept + self.page_count, len(self.classes), start + TRAILER_BYTES
        for i, what in enumerate(("records", "definitions", "bytes")):
            if self.closed and what != "bytes":
                continue
            refuse(told[i] != found[i], start, f"the trailer tells of {told[i]} {what}, there are {found[i]}")

    # Definitions

    def read_definition(self, body, at):
        cls = Class(at)
        cls.name, cls.version, cls.form = body.text(), body.count(), body.integer(1)
        refuse(cls.form & ~(SINCE | OWN_ID) > BARE, at, f"form {cls.form} of a class is unknown")
        cls.id = body.integer(8) if cls.form & OWN_ID else class_id(cls.name)
        refuse(cls.form & OWN_ID and cls.id == class_id(cls.name), at, "a class states the id that its name has")
        if cls.id in self.class_ids:
            raise Refused(at, f"class id {cls.id:#x} belongs to class {self.class_ids[cls.id]} already")
        refuse(not cls.version, at, "versions of a class begin with 1")
        cls.since = body.count() if cls.form & SINCE else None
        refuse(cls.since is not None and not 1 <= cls.since <= cls.version, at, f"class for versions from {cls.since} on")
        cls.form &= ~(SINCE | OWN_ID)
        if cls.form == STRUCT:
            cls.groups = [self.read_fields(body, cls)]
        elif cls.form == ENUM:
            count, cls.groups = body.count(), []
            refuse(not 1 <= count <= VARIANT_LIMIT, at, f"enum of {count} variants")
            for _ in range(count):
                self.read_name(body, cls.variants)
                cls.groups.append(self.read_fields(body, cls))
            cls.variants = list(cls.variants)
        else:
            cls.groups = [[("", self.read_kind(body, cls, 1, True))]]
        self.classes.append(cls)
        self.class_ids[cls.id] = len(self.classes)

    def read_name(self, body, names):
        at, name = body.pos, body.text()
        refuse(name in names, at, f"name {show(name)} stands twice")
        names[name] = None
        return name

    def read_fields(self, body, cls):
        names, fields = {}, []
        for _ in range(body.count()):
            name, flags = self.read_name(body, names), body.integer(1)
            refuse(flags > 1, body.pos - 1, f"field flags {flags:#04x} are unknown")
            if flags:
                refuse(body.count() > 2**32 - 1, body.pos, "the number of a field is over 2^32 - 1")
            fields.append((name, self.read_kind(body, cls, 1, cls.form == STRUCT)))
        return fields

    def read_kind(self, body, cls, depth, held):
        """`held`: a class here would be held by value, with nothing between that could end it."""
        at, tag = body.pos, body.integer(1)
        refuse(depth > KIND_NESTING, at, f"kinds nest more than {KIND_NESTING} deep")
        refuse(tag > COMPACT, at, f"kind {tag:#04x} is unknown")
        if tag == COMPACT:
            plain = body.integer(1)
            refuse(plain not in (4, 5, 6, 9, 10, 11), at, f"kind {plain:#04x} has no compact form")
            return Kind(COMPACT, (), plain)
        if tag == UNKNOWN:
            return Kind(UNKNOWN, [Kind(DYNAMIC, (), 0, 0, "unknown")])
        if tag <= TEXT:
            return Kind(tag)
        if tag < CLASS:
            number = body.count() if tag in (ARRAY, TUPLE) else 0
            times, held = {MAP: 2, TUPLE: number}.get(tag, 1), held and tag in (ARRAY, TUPLE)
            return Kind(tag, [self.read_kind(body, cls, depth + 1, held) for _ in range(times)], number)
        holder = body.integer(1) if tag in (REFERENCE, TRAIT_REFERENCE) else None
        refuse(holder is not None and holder & ~MARK not in HOLDERS, at, f"holder {holder or 0:#04x} is unknown")
        if tag >= DYNAMIC:
            return Kind(tag, (), 0, holder or 0, body.text())
        number = body.count()
        refuse(not number, at, "0 is no class number")
        cls.mentions.setdefault(number, at)
        if held and tag == CLASS:
            cls.holds.add(number)
        return Kind(tag, (), number, holder or 0)

    def settle(self, number, at):
        """A class and all that it mentions, and those mention, are defined, and none holds itself by value."""
        fresh, todo = [], [(number, at)]
        while todo:
            number, at = todo.pop()
            refuse(number > len(self.classes), at, f"class {number} is mentioned, but not defined")
            cls = self.classes[number - 1]
            if not cls.settled:
                cls.settled = True
                fresh.append(cls)
                todo.extend(cls.mentions.items())
        for cls in fresh:
            path = [(cls, iter(cls.holds))] if cls.no_bytes is None else []
            while path:  # depth first, without recursion
                last, holds = path[-1]
                last.under_way, number = True, next(holds, None)
                held = self.classes[number - 1] if number else None
                if held is None:
                    last.no_bytes = last.form != ENUM and all(self.no_bytes(kind) for _, kind in last.groups[0])
                    last.under_way = False
                    path.pop()
                elif held.no_bytes is None:
                    refuse(held.under_way, last.at, f"class {show(last.name)} holds itself by value")
                    path.append((held, iter(held.holds)))

    def no_bytes(self, kind):
        """Whether values of a kind have no bytes; all of them or none."""
        if kind.no_bytes is None:
            if kind.tag == CLASS:
                kind.no_bytes = self.classes[kind.number - 1].no_bytes
            elif kind.tag in (ARRAY, TUPLE):
                kind.no_bytes = not kind.number or all(self.no_bytes(inner) for inner in kind.inner)
            else:
                kind.no_bytes = kind.tag == UNIT
        return kind.no_bytes

    # Records

    def read_record(self, at, number, holder, ident):
        known = holder == PAGE or not holder & ~MARK or holder & ~MARK in HOLDERS
        refuse(not known, at, f"holder {holder:#04x} is too new")
        refuse(not 1 <= ident <= ID_LIMIT, at, f"{ident} is no object id")
        if holder == PAGE:
            refuse(ident in self.records, at, f"a page of object {ident} stands after the object")
            self.page_count += 1
        elif holder:
            refuse(ident in self.records, at, f"object id {ident} is used twice")
            self.records[ident] = number, holder & ~MARK
        else:  # a field that a program did not have
            self.kept += 1

    def read_payload(self, payload, at, number, holder, ident, offset):
        """Reads the value of a record. That all definitions are there by now is what the page allows to wait for."""
        prefix = self.prefix(at, number, holder, ident)
        # An index in a page or in a kept part is empty.
        self.unnamed = {} if holder in (0, PAGE) else self.pages.pop(ident, {})
        self.first_page, self.numbers = next(iter(self.unnamed), 0), range(1, len(self.classes) + 1)
        if number == self.page_class:
            ahead = Cursor(payload.data, payload.pos, payload.end, payload.what)
            self.numbers = self.page_classes(ahead)
            if holder == PAGE:
                self.summarize(ahead, self.pages[ident], offset)
        under_way = [self.value(payload, Kind(CLASS, (), number), prefix, 1)]
        while under_way:  # values in values, without recursion
            inner = next(under_way[-1], None)
            if inner is None:
                under_way.pop()
            elif len(under_way) == VALUE_NESTING:
                raise Refused(payload.pos, f"values nest more than {VALUE_NESTING} deep, this reader's limit")
            else:
                under_way.append(inner)
        payload.finish()
        refuse(self.unnamed, at, f"no index in object {ident} names {len(self.unnamed)} of its pages")

    def prefix(self, at, number, holder, ident):
        """How the first line of a record begins, once the record may stand there."""
        if holder == PAGE:
            name = show(self.classes[number - 1].name)
            refuse(number != self.page_class, at, f"a page of object {ident} is of {name}, not the class of pages")
            refuse(ident not in self.records, at, f"a page of object {ident}, which is not in the save")
            return f"#{ident} page: "
        if holder:
            return f"#{ident} {held(holder, '_')}{', added' if holder & MARK else ''}: "
        cls = self.classes[number - 1]
        is_field = cls.form == STRUCT and len(cls.groups[0]) == 1
        is_part = cls.form == STRUCT and cls.name == UNKNOWN_AT and len(cls.groups[0]) == 2
        refuse(not (is_field or is_part), at, f"what is kept of object {ident} is not one field")
        refuse(ident not in self.records, at, f"something is kept of object {ident}, which is not in the save")
        return f"#{ident} has {'made up' if cls.version == MADE_UP else 'kept'} "

    # Pages

    def find_page_classes(self):
        """Pages need both of their classes with the fields of the page; otherwise each is like any other class."""
        page, entry = self.field_kinds(PAGE_ID), self.field_kinds(ENTRY_ID)
        is_page = [kind.tag for kind in page] == [LIST, LIST] and page[0].inner[0].tag == U64
        if is_page and [(kind.tag, kind.number) for kind in entry] == ENTRY_KINDS:
            self.page_class, self.entry_class = self.class_ids[PAGE_ID], self.class_ids[ENTRY_ID]

    def field_kinds(self, ident):
        """The kinds of the fields of the struct with an id, if the save defines one."""
        number = self.class_ids.get(ident)
        is_struct = number and self.classes[number - 1].form == STRUCT
        return [kind for _, kind in self.classes[number - 1].groups[0]] if is_struct else []

    def page_classes(self, ahead):
        """The numbers in the save of the classes of a page."""
        numbers = {}  # as keys, in the order of the page
        for _ in range(ahead.count()):
            at, ident = ahead.pos, ahead.integer(8)
            number = self.class_ids.get(ident)
            refuse(number is None, at, f"a page needs class id {ident:#x}, which is not defined")
            refuse(number in numbers, at, f"a page has class id {ident:#x} twice")
            numbers[number] = None
        return list(numbers)

    def summarize(self, ahead, pages, offset):
        """Adds to the digest of a page what an index says of its objects: the first id, and how many there are."""
        at, objects = ahead.pos, ahead.count()
        refuse(not objects, at, "a page without objects")
        pages[offset] = ahead.count(), objects, pages[offset]

    def check_index(self, index):
        """Compares each entry of an index with the page that it names."""
        for _ in range(index.count()):
            at = index.pos
            first, objects, position, digest = index.count(), index.count(), index.count(), index.integer(4)
            page = self.unnamed.pop(self.first_page + position, None)
            refuse(page is None, at, f"an index names a page at {position}, where there is none that is not named yet")
            for what, entry, found in zip(("first id", "number of objects", "digest"), (first, objects, digest), page):
                refuse(entry != found, at, f"an index names a page with {what} {entry}, it is {found}")

    # Values

    def line(self, depth, text):
        if self.out:
            self.out("  " * min(depth, 60) + text)

    def value(self, payload, kind, prefix, depth):
        """Reads a value and writes its lines; yields a generator for each value inside it."""
        tag, inner = kind.tag, kind.inner
        cls = self.classes[kind.number - 1] if tag == CLASS else None
        if self.no_bytes(kind):
            self.without_bytes += 1
            if self.without_bytes > NO_BYTES_LIMIT:
                raise Refused(payload.pos, f"over {NO_BYTES_LIMIT} values without bytes, this reader's limit")
            self.line(depth, prefix + (show(cls.name) if cls else "()"))
        elif kind.is_plain():
            self.line(depth, prefix + self.plain(payload, kind))
        elif tag == OPTION:
            some = payload.choice("option")
            self.line(depth, prefix + ("some" if some else "none"))
            if some:
                yield self.value(payload, inner[0], "", depth + 1)
        elif tag == DYNAMIC:
            at, number = payload.pos, payload.count()
            refuse(not number, at, "0 is no class number")
            refuse(number > len(self.numbers), at, f"trait object of class {number}, which is not defined")
            yield self.value(payload, Kind(CLASS, (), self.numbers[number - 1]), prefix + "dyn ", depth)
        elif tag == TUPLE:
            self.line(depth, prefix + "tuple")
            for i, each in enumerate(inner):
                yield self.value(payload, each, f"{i} = ", depth + 1)
        elif tag == CLASS:
            name, index, variant = show(cls.name), 0, ""
            if cls.form == ENUM:
                at, index = payload.pos, payload.integer(1 if len(cls.groups) <= 256 else 2)
                refuse(index >= len(cls.groups), at, f"enum {name} has no variant {index}")
                variant = "::" + show(cls.variants[index])
            self.line(depth, prefix + name + variant)
            for field, each in cls.groups[index]:
                yield self.value(payload, each, "" if cls.form == BARE else f"{show(field)} = ", depth + 1)
        else:
            yield from self.elements(payload, kind, prefix, depth)

    def elements(self, payload, kind, prefix, depth):
        """Reads list, set, map, array or unknown; plain elements make one line."""
        tag, each, name = kind.tag, kind.inner[0], NAMES[kind.tag]
        at, count = payload.pos, kind.number if tag == ARRAY else payload.count()
        if self.no_bytes(each):
            refuse(count > 1 and tag != LIST, at, f"a value {count} times in a {name}")
            if tag == LIST:
                self.line(depth, prefix + f"list of {count} values without bytes")
                return
        elif count > payload.left():
            raise Refused(at, f"{name} of {count} values, with {payload.left()} bytes left")
        texts, seen, in_line = [], set(), tag != MAP and each.is_plain()
        if not in_line:
            self.line(depth, prefix + f"{name} of {count}")
        for i in range(count):
            start = payload.pos
            if not in_line:
                yield self.value(payload, each, f"{i}: ", depth + 1)
            else:
                text = self.plain(payload, each)
                texts += [text] if self.out else []
            if tag in (SET, MAP):
                encoded = memoryview(payload.data)[start:payload.pos]
                refuse(encoded in seen, start, f"{'key' if tag == MAP else 'value'} twice in a {name}")
                seen.add(encoded)
            if tag == MAP:
                yield self.value(payload, kind.inner[1], "=> ", depth + 2)
        if count and tag == LIST and each.tag == CLASS and each.number == self.entry_class:
            beside = at == payload.start or payload.data[at - 1]
            refuse(beside, at, "no empty list of objects stands before an index that is not empty")
            self.check_index(Cursor(payload.data, at, payload.pos, "the index"))
        if in_line:
            self.line(depth, prefix + f"{name} [{', '.join(texts)}]")

    def plain(self, payload, kind):
        """Reads a value that has no others inside, as text."""
        tag, at = kind.tag, payload.pos
        if tag == UNIT:
            return "()"
        if tag == BOOL:
            return ("false", "true")[payload.choice("bool")]
        if tag == CHAR:
            code = payload.integer(4)
            refuse(code > 0x10FFFF or 0xD800 <= code < 0xE000, at, f"{code:#x} is no Unicode scalar value")
            return repr(chr(code))
        if tag in (F32, F64):
            raw, code = (payload.take(4), "<f") if tag == F32 else (payload.take(8), "<d")
            number = struct.unpack(code, raw)[0]
            return repr(number) if number == number else f"NaN (0x{raw[::-1].hex()})"
        if tag == TEXT:
            return repr(payload.text())
        if tag == HANDLE:
            state, bits = payload.integer(1), payload.integer(8)
            refuse(state >= len(STATES), at, f"{state} is no state of a handle")
            refuse(not state and bits, at, f"the null handle has {bits:#x}")
            of_world = state == 1 and kind.label == OBJECTS_OF_WORLDS
            refuse(of_world and not 1 <= bits <= ID_LIMIT, at, f"{bits:#x} is no id of an object of a world")
            return STATES[state] + (f" {bits:#x}" if state else "")
        if tag in (REFERENCE, TRAIT_REFERENCE):
            target, weak = payload.count(), kind.holder & MARK
            refuse(target > ID_LIMIT or not (target or weak), at, f"{target} is no object id")
            if target:
                self.references.setdefault((target, kind.number, kind.holder), at)  # 0 for any class
            return ("weak " if weak else "") + (f"-> #{target}" if target else "-> nothing")
        if tag == COMPACT:
            number, name = payload.count(), NAMES[kind.number]
            refuse(number >> int(name[1:]), at, f"{number} is no compact {name}")
            return str(number if name[0] == "u" else (number >> 1) ^ -(number & 1))
        return str(payload.integer(int(NAMES[tag][1:]) // 8, NAMES[tag][0] == "i"))


def describe(save, within=False):
    """The lines before the records."""
    yield f"format {FORMAT}, {len(save.data)} bytes, {len(save.classes)} classes, {len(save.records)} records"
    for tag, content in save.header.items():
        name = {1: "application", 2: "version", 3: "metadata", 4: "generation", 5: "devices"}.get(tag, f"unknown field {tag}")
        if tag == 3 and not within:
            yield "  metadata:"
            inner = []
            try:
                inside = Save(content, inner.append)
                inside.read()
                yield from ("    " + line for line in [*list(describe(inside, True)), *inner])
            except (Refused, ValueError) as error:
                yield f"    no save of its own, {error}: {content[:100]!r}"
            continue
        if tag == 5:
            content = ", ".join(f"{show(device)!r} {saves} in epoch {epoch}" for device, epoch, saves in content)
            yield f"  {name}: {content}"
            continue
        yield f"  {name}: {content!r}"
    for number, cls in enumerate(save.classes, 1):
        form = ("struct", "enum", "bare value")[cls.form]
        yield f"  class {number}: {form} {show(cls.name)}, version {cls.version}, id {cls.id:#018x}" + (
            f", for versions from {cls.since} on" if cls.since else "")
        for index, fields in enumerate(cls.groups):
            if cls.form == ENUM:
                yield f"    {index}: {show(cls.variants[index])}"
            for name, kind in fields:
                yield f"      {show(name)}{': ' if cls.form != BARE else ''}{kind.name(save.classes)}"


def main():
    parser = argparse.ArgumentParser(description="Reads saves of format 1.")
    parser.add_argument("--check", action="store_true", help="verify only, one line for each file")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    status = 0
    for path in options.files:
        try:
            with open(path, "rb") as file:
                data = file.read(len(MAGIC))
                data += file.read() if data == MAGIC else b""
            save = Save(data)
            save.read()
        except (Refused, OSError, ValueError, MemoryError) as error:
            status, why = 1, getattr(error, "strerror", None) or str(error) or "too large for this computer"
            print(f"{show(path)}: {why}", file=sys.stderr)
            continue
        if save.closed:
            print(f"{show(path)}: checksums good, {save.closed} blocks not read: Python has no module for Zstandard")
        elif options.check:
            print(f"{show(path)}: good, {len(save.records)} records, {len(save.classes)} classes, {len(data)} bytes")
        else:
            print(show(path), *describe(save), sep="\n")
            Save(data, print).read()
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # whoever takes the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
