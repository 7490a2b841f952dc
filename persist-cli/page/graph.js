// The graph: the objects around the chosen one, all objects, or the classes.

import { Sliced } from './canvas.js';
import { el, fill, oneLine, visible } from './dom.js';
import { count, counted, shortClass } from './format.js';
import { aroundObject, ofClasses, wholeSave } from './picture.js';
import { firstPlaces, startLayout } from './layout.js';
import { colour } from './theme.js';
import { swatch } from './value.js';

/** A save with no more objects is shown whole at first. */
const FEW = 3000;
/** References that are drawn at once; of more, some. */
const MOST_LINES = 40000;
/** Lines and dots in one step of the drawing. */
const CHUNK = 250;
const MOST_LABELS = 70;
/** Heads of more arrows at one object would cover it. */
const MOST_ARROWS = 40;

const MODES = [['near', 'Around the object'], ['whole', 'Whole save'], ['classes', 'Classes']];

export function graph(page, element, argument) {
  return new Graph(page, element, argument);
}

class Graph {
  constructor(page, element, argument) {
    this.page = page;
    this.save = page.save;
    const first = page.state.object >= 0 ? 'near' : this.save.count <= FEW ? 'whole' : 'classes';
    this.mode = MODES.some(([mode]) => mode === argument) ? argument : first;
    this.depth = 2;
    this.hovered = -1;
    this.isByCycle = false;
    this.drawing = new Sliced({
      label: 'Graph of objects. Arrow keys move it, plus and minus zoom, 0 shows all, N goes to the next neighbour. The chosen object has the list of its neighbours.',
      steps: (context, view) => this.steps(context, view),
      hover: (at, event) => this.hover(at, event),
      choose: (at) => this.chooseAt(at),
      key: (event) => this.typed(event),
    });
    this.tip = el('p', { class: 'tip', hidden: true });
    this.note = el('p', { class: 'quiet note', role: 'status' });
    this.legend = el('ul', { class: 'legend' });
    fill(element, this.tools(), el('div', { class: 'canvas' }, this.drawing.canvas, this.tip, this.zooms()), el('div', { class: 'foot' }, this.note, this.legend));
    this.load();
  }

  tools() {
    const modes = MODES.map(([mode, name]) => [mode, mode === 'whole' && this.save.isSample ? 'Whole page' : name]).map(([mode, name]) => {
      const radio = el('input', { type: 'radio', name: 'mode', value: mode, checked: mode === this.mode, onchange: () => this.page.open('graph', mode) });
      return el('label', {}, radio, el('span', {}, name));
    });
    this.depths = el(
      'select',
      { 'aria-label': 'Steps from the object', onchange: () => this.setDepth(Number(this.depths.value)) },
      [1, 2, 3, 4, 6].map((depth) => el('option', { value: depth, selected: depth === this.depth }, counted(depth, 'step'))),
    );
    this.depths.hidden = this.mode !== 'near';
    const cycles = el('input', { type: 'checkbox', onchange: () => this.setByCycle(cycles.checked) });
    return el(
      'div',
      { class: 'tools' },
      el('h1', { class: 'unseen' }, 'Graph'),
      el('div', { class: 'segments', role: 'radiogroup', 'aria-label': 'What is shown' }, modes),
      this.depths,
      this.mode === 'classes' ? null : el('label', { class: 'switch' }, cycles, 'Cycles in colour ', el('span', { class: 'count' }, count(this.save.data.totals.cycles))),
    );
  }

  zooms() {
    const button = (label, text, act) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
    return el(
      'div',
      { class: 'zooms' },
      button('Zoom in', '+', () => this.drawing.zoom(1.4)),
      button('Zoom out', '−', () => this.drawing.zoom(1 / 1.4)),
      button('Show all', '⤢', () => this.drawing.fit(this.bounds(), true)),
    );
  }

  setDepth(depth) {
    this.depth = depth;
    this.load();
  }

  setByCycle(isOn) {
    this.isByCycle = isOn;
    this.drawing.redraw();
  }

  load() {
    const { save, page } = this;
    this.stop?.();
    if (this.mode === 'classes') this.picture = ofClasses(save);
    else if (this.mode === 'whole') this.picture = wholeSave(save);
    else this.picture = aroundObject(save, Math.max(0, page.state.object), this.depth);
    const { nodes, ends } = this.picture;
    this.places = new Map(this.mode === 'whole' ? [] : nodes.map((node, place) => [node, place]));
    this.positions = firstPlaces(nodes.length, ends);
    this.degrees = new Uint32Array(nodes.length);
    for (const node of ends) this.degrees[node] += 1;
    this.byDegree = Array.from(nodes, (_, place) => place);
    if (nodes.length <= 20000) this.byDegree.sort((a, b) => this.degrees[b] - this.degrees[a]);
    this.drawing.isMoved = false;
    this.drawing.fit(this.bounds());
    this.say(nodes.length > 1);
    this.showLegend();
    if (nodes.length > 1) this.stop = startLayout(nodes.length, ends, this.positions.slice(), this.mode === 'classes' ? 110 : 34, (positions, isDone) => this.moved(positions, isDone));
  }

  moved(positions, isDone) {
    this.positions = positions;
    this.drawing.fit(this.bounds());
    this.drawing.redraw();
    if (isDone) this.say(false);
  }

  say(isMoving) {
    const { nodes, ends, left } = this.picture;
    const lines = ends.length / 2;
    const what = this.mode === 'classes' ? counted(nodes.length, 'class', 'classes') : counted(nodes.length, 'object');
    const rest = left > 0 ? `, ${count(left)} more are not shown` : '';
    const sample = this.save.isSample ? `, of ${counted(this.save.total, 'object')} and ${counted(this.save.data.totals.references, 'reference')} in the save` : '';
    const some = lines > MOST_LINES ? `, ${counted(lines, 'reference')}; ${count(MOST_LINES)} of them are drawn at once` : `, ${counted(lines, 'reference')}`;
    this.note.textContent = `${what}${rest}${some}${sample}${isMoving ? '. Arranging…' : '.'}`;
  }

  showLegend() {
    const counts = new Map();
    for (const node of this.picture.nodes) {
      const kind = this.mode === 'classes' ? node : this.save.classOf(node);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    const kinds = [...counts.keys()].sort((a, b) => a - b).slice(0, 10);
    fill(this.legend, kinds.map((kind) => el('li', {}, swatch(kind), shortClass(this.save.classes[kind].name))));
  }

  bounds() {
    const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    const { positions } = this;
    for (let at = 0; at < positions.length; at += 2) {
      box.left = Math.min(box.left, positions[at]);
      box.right = Math.max(box.right, positions[at]);
      box.top = Math.min(box.top, positions[at + 1]);
      box.bottom = Math.max(box.bottom, positions[at + 1]);
    }
    return positions.length > 0 ? box : { left: 0, right: 1, top: 0, bottom: 1 };
  }

  /** The place of the chosen object in the picture; -1 if it is not there. */
  chosen() {
    const { object } = this.page.state;
    if (object < 0 || this.mode === 'classes') return -1;
    return this.mode === 'whole' ? object : this.places.get(object) ?? -1;
  }

  /** Draws, and yields after each piece of work. */
  *steps(context, view) {
    const { positions, picture } = this;
    const style = styleOf();
    const chosen = this.chosen();
    const pixel = 1 / view.scale;
    const window = this.window(view);
    context.lineWidth = pixel;
    yield* this.lines(context, style, window, chosen);
    yield* this.dots(context, style, window, pixel);
    if (chosen >= 0) this.around(context, style, chosen, pixel);
    if (positions.length <= 40000 || view.scale > 0.5) {
      yield;
      this.labels(context, style, window, pixel, chosen);
    }
    if (picture !== this.picture) this.drawing.redraw();
  }

  /** What is seen of the drawing. */
  window({ x, y, scale }) {
    const [dx, dy] = [this.drawing.width / 2 / scale + 20, this.drawing.height / 2 / scale + 20];
    return { left: x - dx, right: x + dx, top: y - dy, bottom: y + dy };
  }

  *lines(context, style, window, chosen) {
    const { positions, save, isByCycle } = this;
    const { ends, nodes, weights } = this.picture;
    const isSeen = (a, b) => {
      const [ax, ay, bx, by] = [positions[2 * a], positions[2 * a + 1], positions[2 * b], positions[2 * b + 1]];
      return Math.max(ax, bx) >= window.left && Math.min(ax, bx) <= window.right && Math.max(ay, by) >= window.top && Math.min(ay, by) <= window.bottom;
    };
    let seen = 0;
    for (let at = 0; at < ends.length; at += 2) seen += isSeen(ends[at], ends[at + 1]) ? 1 : 0;
    yield;
    const step = Math.max(1, Math.ceil(seen / MOST_LINES));
    const pixel = context.lineWidth;
    const fade = chosen >= 0 || isByCycle ? 0.45 : 1;
    const isCycle = (a, b) => this.mode !== 'classes' && save.cycleOf[nodes[a]] >= 0 && save.cycleOf[nodes[a]] === save.cycleOf[nodes[b]];
    for (const isMarked of isByCycle ? [false, true] : [false]) {
      let drawn = 0;
      let met = 0;
      context.strokeStyle = isMarked ? style.cycle : style.line;
      context.globalAlpha = isMarked ? 0.8 : fade * (seen > 3000 ? 0.4 : 1);
      context.beginPath();
      for (let line = 0; line < ends.length / 2; line += 1) {
        const [a, b] = [ends[2 * line], ends[2 * line + 1]];
        if (!isSeen(a, b) || (isByCycle && isCycle(a, b) !== isMarked)) continue;
        met += 1;
        if (met % step !== 0) continue;
        const [ax, ay, bx, by] = [positions[2 * a], positions[2 * a + 1], positions[2 * b], positions[2 * b + 1]];
        if (weights) {
          context.lineWidth = pixel * Math.min(8, 1 + Math.log2(weights[line]) / 2);
          context.stroke();
          context.beginPath();
        }
        if (a === b) context.arc(ax + 9 * pixel, ay - 9 * pixel, 7 * pixel, 0, 2 * Math.PI);
        else {
          context.moveTo(ax, ay);
          context.lineTo(bx, by);
        }
        drawn += 1;
        if (drawn % CHUNK === 0) {
          context.stroke();
          yield;
          context.beginPath();
        }
      }
      context.stroke();
      context.lineWidth = pixel;
    }
    context.globalAlpha = 1;
  }

  radius(place, pixel) {
    const degree = this.degrees[place];
    if (this.picture.nodes.length > 5000) return Math.max(0.8 * pixel, 2 + Math.log2(1 + degree));
    return Math.max(2.2 * pixel, Math.min(15 * pixel, 3.5 + 1.4 * Math.log2(1 + degree)));
  }

  *dots(context, style, window, pixel) {
    const { positions, save, isByCycle } = this;
    const { nodes } = this.picture;
    const isLarge = nodes.length > 5000;
    let drawn = 0;
    for (let place = 0; place < nodes.length; place += 1) {
      const [x, y] = [positions[2 * place], positions[2 * place + 1]];
      if (x < window.left || x > window.right || y < window.top || y > window.bottom) continue;
      const kind = this.mode === 'classes' ? nodes[place] : save.classOf(nodes[place]);
      const cycle = this.mode === 'classes' ? -1 : save.cycleOf[nodes[place]];
      const radius = this.radius(place, pixel);
      context.globalAlpha = isByCycle && cycle < 0 ? 0.25 : 1;
      context.fillStyle = isByCycle && cycle >= 0 ? style.cycles[cycle % style.cycles.length] : style.classes[Math.min(kind, 10)];
      if (isLarge && radius < 4 * pixel) context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
      else {
        context.beginPath();
        context.arc(x, y, radius, 0, 2 * Math.PI);
        context.fill();
        if (!isLarge) {
          context.strokeStyle = style.ground;
          context.stroke();
        }
      }
      drawn += 1;
      if (drawn % CHUNK === 0) yield;
    }
    context.globalAlpha = 1;
  }

  /** The chosen object, with its references as arrows. */
  around(context, style, chosen, pixel) {
    const { positions } = this;
    const { ends } = this.picture;
    context.strokeStyle = style.accent;
    context.lineWidth = 1.6 * pixel;
    const own = [];
    for (let at = 0; at < ends.length; at += 2) {
      const [a, b] = [ends[at], ends[at + 1]];
      if ((a === chosen || b === chosen) && a !== b) own.push([a, b]);
    }
    context.globalAlpha = own.length > MOST_ARROWS ? 0.5 : 1;
    context.beginPath();
    for (const [a, b] of own) arrow(context, positions, a, b, this.radius(b, pixel), own.length > MOST_ARROWS ? 0 : pixel);
    context.stroke();
    context.globalAlpha = 1;
    const [x, y] = [positions[2 * chosen], positions[2 * chosen + 1]];
    context.lineWidth = 2.5 * pixel;
    context.fillStyle = style.classes[Math.min(this.save.classOf(this.picture.nodes[chosen]), 10)];
    context.beginPath();
    context.arc(x, y, this.radius(chosen, pixel), 0, 2 * Math.PI);
    context.fill();
    context.beginPath();
    context.arc(x, y, this.radius(chosen, pixel) + 4 * pixel, 0, 2 * Math.PI);
    context.stroke();
    context.lineWidth = pixel;
  }

  /** Names of the most connected nodes that are seen, where they do not cover each other. */
  labels(context, style, window, pixel, chosen) {
    const { positions } = this;
    const taken = new Set();
    let drawn = 0;
    context.font = `${12 * pixel}px ui-sans-serif, system-ui, sans-serif`;
    context.textBaseline = 'middle';
    context.lineJoin = 'round';
    context.lineWidth = 3 * pixel;
    const draw = (place, isSure) => {
      const [x, y] = [positions[2 * place], positions[2 * place + 1]];
      if (x < window.left || x > window.right || y < window.top || y > window.bottom) return;
      const text = oneLine(this.label(place));
      const spots = [];
      const row = Math.floor(y / pixel / 9);
      const first = Math.floor(x / pixel / 24);
      for (let spot = first; spot <= first + Math.ceil((text.length * 7) / 24) + 1; spot += 1) spots.push(`${spot},${row}`, `${spot},${row + 1}`);
      if (!isSure && spots.some((spot) => taken.has(spot))) return;
      spots.forEach((spot) => taken.add(spot));
      const left = x + this.radius(place, pixel) + (place === chosen ? 9 : 4) * pixel;
      context.strokeStyle = style.ground;
      context.strokeText(text, left, y);
      context.fillStyle = place === chosen ? style.accent : style.ink;
      context.fillText(text, left, y);
      drawn += 1;
    };
    if (chosen >= 0) draw(chosen, true);
    for (const place of this.byDegree.slice(0, 4000)) {
      if (drawn >= MOST_LABELS) break;
      if (place !== chosen) draw(place, false);
    }
  }

  label(place) {
    const node = this.picture.nodes[place];
    if (this.mode === 'classes') return `${shortClass(this.save.classes[node].name)} · ${count(this.save.classes[node].records)}`;
    return this.save.name(node) || `${shortClass(this.save.className(node))} #${this.save.id(node)}`;
  }

  /** The node at a place of the drawing; -1 if none is near. */
  nodeAt(at) {
    const { positions } = this;
    const pixel = 1 / this.drawing.view.scale;
    let [found, nearest] = [-1, Infinity];
    for (let place = 0; place < positions.length / 2; place += 1) {
      const distance = Math.hypot(positions[2 * place] - at.x, positions[2 * place + 1] - at.y);
      if (distance < nearest && distance < this.radius(place, pixel) + 5 * pixel) [found, nearest] = [place, distance];
    }
    return found;
  }

  hover(at, event) {
    const place = at === null ? -1 : this.nodeAt(at);
    this.drawing.canvas.style.cursor = place < 0 ? '' : 'pointer';
    this.tip.hidden = place < 0;
    if (place < 0) return;
    const node = this.picture.nodes[place];
    const text = this.mode === 'classes' ? this.label(place) : `${this.save.label(node)}, ${this.save.className(node)}`;
    this.tip.textContent = visible(text);
    this.tip.style.transform = `translate(${event.offsetX + 14}px, ${event.offsetY + 14}px)`;
  }

  chooseAt(at) {
    const place = this.nodeAt(at);
    if (place < 0) return;
    const node = this.picture.nodes[place];
    if (this.mode === 'classes') this.page.openTable(node);
    else this.page.choose(node, 'graph', this.mode);
  }

  typed(event) {
    if (event.key !== 'n' && event.key !== 'N') return false;
    const { object } = this.page.state;
    const others = [];
    if (object >= 0) this.save.eachOut(object, (_, other) => others.push(other));
    const next = others.find((other) => other !== object) ?? 0;
    if (this.save.count > 0 && this.mode !== 'classes') this.page.choose(next, 'graph', this.mode);
    return true;
  }

  /** Another object was chosen. */
  choose(object) {
    if (this.mode === 'near' && object >= 0 && (this.places.get(object) ?? -1) !== 0) return this.load();
    const place = this.chosen();
    if (place >= 0) {
      const [x, y] = [this.positions[2 * place], this.positions[2 * place + 1]];
      const { view, width, height } = this.drawing;
      const isSeen = Math.abs(x - view.x) * view.scale < width / 2 && Math.abs(y - view.y) * view.scale < height / 2;
      if (!isSeen) this.drawing.centre(x, y);
    }
    this.drawing.redraw();
  }

  close() {
    this.stop?.();
    this.drawing.close();
  }
}

function arrow(context, positions, a, b, radius, pixel) {
  const [ax, ay, bx, by] = [positions[2 * a], positions[2 * a + 1], positions[2 * b], positions[2 * b + 1]];
  const angle = Math.atan2(by - ay, bx - ax);
  const [x, y] = [bx - radius * Math.cos(angle), by - radius * Math.sin(angle)];
  context.moveTo(ax, ay);
  context.lineTo(x, y);
  for (const turn of [2.7, -2.7]) {
    context.moveTo(x, y);
    context.lineTo(x + 7 * pixel * Math.cos(angle + turn), y + 7 * pixel * Math.sin(angle + turn));
  }
}

function styleOf() {
  const classes = Array.from({ length: 11 }, (_, number) => colour(`c${number}`));
  const cycles = [0, 2, 4, 5, 6, 7].map((number) => colour(`c${number}`));
  return { classes, cycles: [colour('cycle'), ...cycles], cycle: colour('cycle'), line: colour('edge'), ink: colour('ink'), ground: colour('ground'), accent: colour('accent') };
}
