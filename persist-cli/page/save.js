// The data of the page: what `persist report --json` prints, taken apart into columns.

import { cell } from './value.js';

/** One save: its objects are numbers from 0, in the order in which the save has them. */
export class Save {
  constructor(data, number) {
    this.data = data;
    this.number = number;
    this.strings = data.strings;
    this.shapes = data.shapes;
    this.classes = data.classes;
    this.objects = data.objects;
    this.count = data.objects.id.length;
    this.tables = [];
    /** All objects of the save, of which the page may have some. */
    this.total = data.totals.objects;
    this.isSample = this.total > this.count;
    this.cycles = data.cycles.map((cycle) => cycle.objects);
    const { from, to, by, weak } = data.references;
    this.references = { from: Int32Array.from(from), to: Int32Array.from(to), by, weak: new Set(weak) };
    this.outgoing = index(this.references.from, this.count);
    this.incoming = index(this.references.to, this.count);
    this.cycleOf = new Int32Array(this.count).fill(-1);
    this.cycles.forEach((members, cycle) => members.forEach((object) => (this.cycleOf[object] = cycle)));
    this.parts = partsOf(this.classes, this.count);
  }

  id(object) {
    const id = this.objects.id[object];
    return typeof id === 'object' ? id.d : id;
  }

  /** The name that the object has in its world or in a field of text; empty if it has none. */
  name(object) {
    const name = this.objects.name[object];
    return name < 0 ? '' : this.strings[name];
  }

  /** Like `Ada #17`. */
  label(object) {
    const name = this.name(object);
    return name ? `${name} #${this.id(object)}` : `#${this.id(object)}`;
  }

  /** As the command prints it: `#17`, or `World/#5` for an object of a world. */
  path(object) {
    return this.worldOf(object) < 0 ? `#${this.id(object)}` : `World/#${this.id(object)}`;
  }

  /** The world that an object is in; -1 if it is in none. */
  worldOf(object) {
    return this.objects.world[object] ?? -1;
  }

  /** What stands for an object in the address: `17`, or `World/5`. */
  key(object) {
    return this.path(object).replace('#', '');
  }

  /** The object that has this key; -1 if the page has none. */
  withKey(key) {
    if (!this.keys) {
      this.keys = new Map();
      // A world in a field has the id of the object that it is in, which comes before it.
      for (let object = this.count - 1; object >= 0; object -= 1) this.keys.set(this.key(object), object);
    }
    return this.keys.get(key) ?? -1;
  }

  /** A path that leads to this object alone, for `persist get`; null for a world in a field if there are others. */
  pathTo(object) {
    this.worlds ??= new Set(this.objects.world.filter((world) => world >= 0));
    const world = this.worldOf(object);
    if (world >= 0) return this.worlds.size > 1 ? `#${this.id(world)}/#${this.id(object)}` : `World/#${this.id(object)}`;
    const isNested = this.className(object) === 'persist.World' && this.withKey(this.key(object)) !== object;
    if (isNested) return this.worlds.size > 1 ? null : 'World';
    return `#${this.id(object)}`;
  }

  classOf(object) {
    return this.objects.class[object];
  }

  className(object) {
    return this.classes[this.classOf(object)].name;
  }

  bytes(object) {
    return this.objects.bytes[object];
  }

  /** The values of a field in the records of an object, in the form that nested values have. */
  fieldOf(object, name) {
    const fields = this.partsOf(object).map((part) => ({ part, column: this.table(part.class).columns.find((column) => column.name === name) }));
    return fields.flatMap(({ part, column }) => (column ? [cell(this, column, part.row)] : []));
  }

  /** The records of an object: one, or one for each component. */
  partsOf(object) {
    const { starts, classes, rows } = this.parts;
    const parts = [];
    for (let at = starts[object]; at < starts[object + 1]; at += 1) {
      parts.push({ class: classes[at], row: rows[at] });
    }
    return parts;
  }

  /** The table of a class. It is parsed when it is first asked for: most visits look at few of them. */
  table(number) {
    const parsed = () => JSON.parse(document.getElementById(`table-${this.number}-${number}`).textContent);
    this.tables[number] ??= this.data.tables?.[number] ?? parsed();
    return this.tables[number];
  }

  /** Calls with each reference of an object and the object at its other end. */
  eachOut(object, call) {
    const { starts, order } = this.outgoing;
    for (let at = starts[object]; at < starts[object + 1]; at += 1) call(order[at], this.references.to[order[at]]);
  }

  /** Calls with each reference to an object and the object that has it. */
  eachIn(object, call) {
    const { starts, order } = this.incoming;
    for (let at = starts[object]; at < starts[object + 1]; at += 1) call(order[at], this.references.from[order[at]]);
  }

  /** How many references an object has; the page may have some of them. */
  outCount(object) {
    return this.objects.to[object] ?? this.outgoing.starts[object + 1] - this.outgoing.starts[object];
  }

  inCount(object) {
    return this.objects.from[object] ?? this.incoming.starts[object + 1] - this.incoming.starts[object];
  }

  /** Where a reference lies in its object: the path of its field. */
  field(reference) {
    return this.strings[this.references.by[reference]];
  }

  isWeak(reference) {
    return this.references.weak.has(reference);
  }

  /** The object of a world with an id; -1 if there is none. */
  member(id) {
    return this.withKey(`World/${id}`);
  }

  /** The first objects whose name or id has the text, and how many there are. Exact ids and names come first. */
  search(text, most) {
    const wanted = text.trim().toLowerCase();
    const id = wanted.replace(/^#/, '');
    const exact = [];
    const begins = [];
    const others = [];
    if (wanted === '') return { found: [], total: 0 };
    this.lowered ??= this.strings.map((string) => string.toLowerCase());
    const byClass = this.classes.map((kind) => kind.name.toLowerCase().includes(wanted));
    for (let object = 0; object < this.count; object += 1) {
      const name = this.objects.name[object] < 0 ? '' : this.lowered[this.objects.name[object]];
      if (name === wanted || String(this.id(object)) === id) exact.push(object);
      else if (name.startsWith(wanted)) begins.push(object);
      else if (name.includes(wanted) || byClass[this.classOf(object)]) others.push(object);
    }
    const found = [];
    for (const list of [exact, begins, others]) found.push(...list.slice(0, most - found.length));
    return { found, total: exact.length + begins.length + others.length };
  }
}

/** Sorts places by what they hold, by counting. */
function index(keys, count) {
  const starts = new Int32Array(count + 1);
  for (const key of keys) starts[key + 1] += 1;
  for (let key = 0; key < count; key += 1) starts[key + 1] += starts[key];
  const next = starts.slice();
  const order = new Int32Array(keys.length);
  keys.forEach((key, place) => {
    order[next[key]] = place;
    next[key] += 1;
  });
  return { starts, order };
}

function partsOf(classes, count) {
  const objects = [];
  const ofClass = [];
  const ofRow = [];
  classes.forEach((kind, number) =>
    kind.objects.forEach((object, row) => {
      objects.push(object);
      ofClass.push(number);
      ofRow.push(row);
    }),
  );
  const { starts, order } = index(Int32Array.from(objects), count);
  return {
    starts,
    classes: Int32Array.from(order, (place) => ofClass[place]),
    rows: Int32Array.from(order, (place) => ofRow[place]),
  };
}

/** Reads the data out of the page. */
export function readReport() {
  const report = JSON.parse(document.getElementById('report').textContent);
  const saves = report.saves.map((data, number) => new Save(data, number));
  return { saves, diff: report.diff ?? null, journal: report.journal ?? null };
}
