// The layout of graphs: springs along references, and repulsion between all nodes by a quadtree (Barnes and Hut, 1986).
// It runs in a worker, so that the page stays quick.

/** Starts a layout; `spring` is the length of a reference, `moved(positions, isDone)` is called as it proceeds. Returns what stops it. */
export function startLayout(count, ends, positions, spring, moved) {
  // The worker is made of the text of its function: a page from disk may not load another file.
  const address = URL.createObjectURL(new Blob([`(${layoutWorker})()`], { type: 'text/javascript' }));
  const worker = new Worker(address);
  worker.onmessage = ({ data }) => {
    if (data.isDone) worker.terminate();
    moved(data.positions, data.isDone);
  };
  worker.postMessage({ count, ends, positions, spring });
  return () => {
    worker.terminate();
    URL.revokeObjectURL(address);
  };
}

/** With no more nodes, the layout finds its form from any start. */
const FEW = 1500;

/** Where nodes begin: no two at one place, and nothing random. */
export function firstPlaces(count, ends) {
  return count <= FEW ? spiral(count) : curve(count, ends);
}

/** Along a Hilbert curve, each node beside those that are reached through it: the clusters are there from the start. */
function curve(count, ends) {
  const order = preorder(count, ends);
  const positions = new Float32Array(2 * count);
  let side = 1;
  while (side * side < count) side *= 2;
  order.forEach((node, step) => {
    const { x, y } = hilbert(side, Math.floor((step * side * side) / count));
    const width = 20 * Math.sqrt(count);
    // A little off the grid, in which forces would cancel out.
    positions[2 * node] = (x / side - 0.5) * width + (node % 7) / 3;
    positions[2 * node + 1] = (y / side - 0.5) * width + (node % 5) / 3;
  });
  return positions;
}

/** The nodes in the order of a tree of shortest ways, each right before those below it. */
function preorder(count, ends) {
  const starts = new Int32Array(count + 1);
  for (const node of ends) starts[node + 1] += 1;
  for (let node = 0; node < count; node += 1) starts[node + 1] += starts[node];
  const next = starts.slice();
  const others = new Int32Array(ends.length);
  for (let at = 0; at < ends.length; at += 2) {
    others[next[ends[at]]++] = ends[at + 1];
    others[next[ends[at + 1]]++] = ends[at];
  }
  const isMet = new Uint8Array(count);
  const [first, sibling] = [new Int32Array(count).fill(-1), new Int32Array(count).fill(-1)];
  const roots = [];
  const queue = new Int32Array(count);
  for (let root = 0, read = 0, written = 0; root < count; root += 1) {
    if (isMet[root]) continue;
    roots.push(root);
    isMet[root] = 1;
    queue[written++] = root;
    for (; read < written; read += 1) {
      const node = queue[read];
      for (let at = starts[node]; at < starts[node + 1]; at += 1) {
        const other = others[at];
        if (isMet[other]) continue;
        isMet[other] = 1;
        queue[written++] = other;
        sibling[other] = first[node];
        first[node] = other;
      }
    }
  }
  const order = [];
  for (const root of roots) {
    const stack = [root];
    while (stack.length > 0) {
      const node = stack.pop();
      order.push(node);
      for (let child = first[node]; child >= 0; child = sibling[child]) stack.push(child);
    }
  }
  return order;
}

/** The place of a step on a Hilbert curve in a square, whose side is a count of cells. */
function hilbert(side, step) {
  let [x, y] = [0, 0];
  for (let size = 1; size < side; size *= 2) {
    const isRight = (step & 2) >> 1;
    const isLow = (step & 1) ^ isRight;
    if (isLow === 0) {
      if (isRight) [x, y] = [size - 1 - x, size - 1 - y];
      [x, y] = [y, x];
    }
    x += size * isRight;
    y += size * isLow;
    step = Math.floor(step / 4);
  }
  return { x, y };
}

/** On a spiral, in their order. */
function spiral(count) {
  const positions = new Float32Array(2 * count);
  for (let node = 0; node < count; node += 1) {
    const radius = 12 * Math.sqrt(node + 0.5);
    const angle = node * 2.399963;
    positions[2 * node] = radius * Math.cos(angle);
    positions[2 * node + 1] = radius * Math.sin(angle);
  }
  return positions;
}

/** The code of the worker. It uses nothing from outside. */
function layoutWorker() {
  const REPULSION = -36;
  const GRAVITY = 0.03;
  const FRICTION = 0.6;
  /** A cell whose width is less than this part of its distance counts as one node. */
  const THETA = 0.9;
  const MOST_LEVELS = 22;
  /** Milliseconds between two messages. */
  const PAUSE = 150;

  onmessage = ({ data }) => run(data.count, data.ends, data.positions, data.spring);

  function run(count, ends, positions, spring) {
    const speed = new Float32Array(2 * count);
    const degrees = new Uint32Array(count);
    for (const node of ends) degrees[node] += 1;
    const rounds = count < 2000 ? 260 : count < 20000 ? 120 : 60;
    const decay = 1 - 0.002 ** (1 / rounds);
    const tree = makeTree(count);
    let sent = Date.now();
    for (let round = 0, heat = 1; round < rounds; round += 1, heat *= 1 - decay) {
      pull(ends, positions, speed, degrees, spring, heat);
      tree.build(positions);
      for (let node = 0; node < count; node += 1) tree.push(node, positions, speed, heat * (spring / 34));
      for (let at = 0; at < 2 * count; at += 1) {
        speed[at] = (speed[at] - positions[at] * GRAVITY * heat) * FRICTION;
        positions[at] += speed[at];
      }
      if (Date.now() - sent > PAUSE) {
        sent = Date.now();
        postMessage({ positions: positions.slice(), isDone: false });
      }
    }
    postMessage({ positions, isDone: true });
  }

  /** Springs: the node with fewer references moves more. */
  function pull(ends, positions, speed, degrees, spring, heat) {
    for (let at = 0; at < ends.length; at += 2) {
      const [a, b] = [ends[at], ends[at + 1]];
      if (a === b) continue;
      const dx = positions[2 * b] + speed[2 * b] - positions[2 * a] - speed[2 * a] || 0.01;
      const dy = positions[2 * b + 1] + speed[2 * b + 1] - positions[2 * a + 1] - speed[2 * a + 1] || 0.01;
      const distance = Math.sqrt(dx * dx + dy * dy);
      const force = (((distance - spring) / distance) * heat) / Math.min(degrees[a], degrees[b]);
      const share = degrees[a] / (degrees[a] + degrees[b]);
      speed[2 * b] -= dx * force * share;
      speed[2 * b + 1] -= dy * force * share;
      speed[2 * a] += dx * force * (1 - share);
      speed[2 * a + 1] += dy * force * (1 - share);
    }
  }

  /** A quadtree in arrays, which is built anew in each round. */
  function makeTree(count) {
    let room = 4 * count + 64;
    let children = new Int32Array(4 * room);
    let mass = new Float32Array(room);
    let x = new Float32Array(room);
    let y = new Float32Array(room);
    // The node of a leaf; others at its place follow as a list.
    let leaf = new Int32Array(room);
    const next = new Int32Array(count);
    const stack = new Int32Array(4 * (MOST_LEVELS + 2));
    const sizes = new Float32Array(4 * (MOST_LEVELS + 2));
    let cells = 0;
    let width = 1;

    function cell() {
      if (cells === room) {
        room *= 2;
        const grown = (old, length) => {
          const array = new old.constructor(length);
          array.set(old);
          return array;
        };
        children = grown(children, 4 * room);
        mass = grown(mass, room);
        x = grown(x, room);
        y = grown(y, room);
        leaf = grown(leaf, room);
      }
      children.fill(0, 4 * cells, 4 * cells + 4);
      mass[cells] = x[cells] = y[cells] = 0;
      leaf[cells] = -1;
      cells += 1;
      return cells - 1;
    }

    function build(positions) {
      let least = Infinity;
      let most = -Infinity;
      for (const at of positions) {
        if (at < least) least = at;
        if (at > most) most = at;
      }
      width = Math.max(1, most - least);
      cells = 0;
      cell();
      for (let node = 0; node < count; node += 1) insert(node, positions, least);
      for (let at = 0; at < cells; at += 1) {
        x[at] /= mass[at];
        y[at] /= mass[at];
      }
    }

    function insert(node, positions, least) {
      const [px, py] = [positions[2 * node], positions[2 * node + 1]];
      let [at, left, top, half] = [0, least, least, width / 2];
      next[node] = -1;
      for (let level = 0; ; level += 1) {
        const isEmpty = mass[at] === 0;
        mass[at] += 1;
        x[at] += px;
        y[at] += py;
        if (isEmpty && at !== 0) {
          leaf[at] = node;
          return;
        }
        if (leaf[at] >= 0) {
          if (level >= MOST_LEVELS) {
            next[node] = leaf[at];
            leaf[at] = node;
            return;
          }
          // The leaf becomes a cell: its node goes one level down.
          const old = leaf[at];
          leaf[at] = -1;
          const [ox, oy] = [positions[2 * old], positions[2 * old + 1]];
          const child = down(at, ox, oy, left, top, half);
          mass[child] = 1;
          x[child] = ox;
          y[child] = oy;
          leaf[child] = old;
        }
        const isRight = px > left + half;
        const isLow = py > top + half;
        at = down(at, px, py, left, top, half);
        if (isRight) left += half;
        if (isLow) top += half;
        half /= 2;
      }
    }

    function down(at, px, py, left, top, half) {
      const place = 4 * at + (px > left + half ? 1 : 0) + (py > top + half ? 2 : 0);
      if (children[place] === 0) {
        const child = cell();
        children[place] = child;
      }
      return children[place];
    }

    function push(node, positions, speed, heat) {
      const [px, py] = [positions[2 * node], positions[2 * node + 1]];
      let [fx, fy, depth] = [0, 0, 1];
      stack[0] = 0;
      sizes[0] = width;
      while (depth > 0) {
        depth -= 1;
        const at = stack[depth];
        const size = sizes[depth];
        let dx = x[at] - px;
        let dy = y[at] - py;
        let square = dx * dx + dy * dy;
        const isFar = size * size < THETA * THETA * square;
        if (!isFar && leaf[at] < 0) {
          for (let child = 4 * at; child < 4 * at + 4; child += 1) {
            if (children[child] === 0) continue;
            stack[depth] = children[child];
            sizes[depth] = size / 2;
            depth += 1;
          }
          continue;
        }
        const others = leaf[at] === node ? mass[at] - 1 : mass[at];
        if (others === 0) continue;
        if (square < 1) {
          // Nodes at one place part in directions of their own.
          dx += Math.cos(node);
          dy += Math.sin(node);
          square = 1;
        }
        const force = (REPULSION * heat * others) / square;
        fx += dx * force;
        fy += dy * force;
      }
      speed[2 * node] += fx;
      speed[2 * node + 1] += fy;
    }

    return { build, push };
  }
}
