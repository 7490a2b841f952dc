// The data of the page: what `persist report --json` prints, taken apart into columns.

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
    this.cycles = data.cycles;
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

  /** As the command takes it: `#17`, or `World/#5` for an object of a world. */
  path(object) {
    const isMember = (this.objects.world[object] ?? -1) >= 0;
    return isMember ? `World/#${this.id(object)}` : `#${this.id(object)}`;
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

  outCount(object) {
    return this.outgoing.starts[object + 1] - this.outgoing.starts[object];
  }

  inCount(object) {
    return this.incoming.starts[object + 1] - this.incoming.starts[object];
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
    this.members ??= new Map(this.objects.world.flatMap((world, object) => (world < 0 ? [] : [[this.id(object), object]])));
    return this.members.get(id) ?? -1;
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
