// What a graph shows: nodes, and the ends of the lines between them as pairs of places.

/** Objects around the chosen one; more cannot be read. */
const MOST_NEAR = 300;

/** The objects within some steps of one, along references in both directions. The nearest come first. */
export function aroundObject(save, start, depth) {
  const places = new Map();
  let left = 0;
  if (start < save.count) places.set(start, 0);
  let level = [...places.keys()];
  for (let step = 0; step < depth && level.length > 0; step += 1) {
    const next = [];
    const met = new Set();
    const meet = (_, other) => {
      if (places.has(other) || met.has(other)) return;
      if (places.size < MOST_NEAR) {
        places.set(other, places.size);
        next.push(other);
      } else {
        met.add(other);
      }
    };
    for (const object of level) {
      save.eachOut(object, meet);
      save.eachIn(object, meet);
    }
    left += met.size;
    level = next;
  }
  const ends = [];
  for (const [object, place] of places) {
    const met = new Set();
    save.eachOut(object, (_, other) => {
      const end = places.get(other);
      if (end === undefined || met.has(end)) return;
      met.add(end);
      ends.push(place, end);
    });
  }
  return { nodes: [...places.keys()], ends: Int32Array.from(ends), left };
}

/** All objects and references. */
export function wholeSave(save) {
  const { from, to } = save.references;
  const ends = new Int32Array(2 * from.length);
  for (let at = 0; at < from.length; at += 1) {
    ends[2 * at] = from[at];
    ends[2 * at + 1] = to[at];
  }
  return { nodes: Int32Array.from({ length: save.count }, (_, object) => object), ends, left: 0 };
}

/** The classes of objects, and how many references lead from one to the other. */
export function ofClasses(save) {
  const { from, to } = save.references;
  const used = [...new Set(save.objects.class)].sort((a, b) => a - b);
  const places = new Map(used.map((kind, place) => [kind, place]));
  const counts = new Map();
  for (let at = 0; at < from.length; at += 1) {
    const key = places.get(save.classOf(from[at])) * used.length + places.get(save.classOf(to[at]));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const ends = [...counts.keys()].flatMap((key) => [Math.floor(key / used.length), key % used.length]);
  return { nodes: used, ends: Int32Array.from(ends), weights: [...counts.values()], left: 0 };
}
