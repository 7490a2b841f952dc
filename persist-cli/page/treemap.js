// Where the bytes go, as areas: classes and the fields in them. An area with more in it opens as a map of its own.

import { el, fill } from './dom.js';
import { bytes, counted, percent, shortClass } from './format.js';
import { squarify } from './squarify.js';

/** Room for the name of an area above its parts. */
const HEAD = 24;
/** Sides below which an area has no text. */
const LEAST_WIDTH = 46;
const LEAST_HEIGHT = 18;
/** The largest parts of a part that have areas. */
const MOST = 200;

export function treemap(page, element) {
  return new Treemap(page, element);
}

class Treemap {
  constructor(page, element) {
    this.page = page;
    this.whole = page.save.data.usage;
    this.numbers = new Map(page.save.classes.map((kind, number) => [kind.name, number]));
    // From the whole save to the part that is shown.
    this.way = [this.whole];
    this.trail = el('nav', { class: 'trail', 'aria-label': 'Part of the save' });
    this.note = el('p', { class: 'quiet', role: 'status' });
    this.map = el('div', { class: 'map', role: 'group', 'aria-label': 'Bytes by class and field' });
    fill(element, el('h1', {}, 'Bytes by class and field'), this.trail, this.map, this.note);
    const say = ({ target }) => {
      const says = target.closest('[data-says]')?.dataset.says;
      if (says) fill(this.note, says);
    };
    this.map.addEventListener('pointerover', say);
    this.map.addEventListener('focusin', say);
    this.map.addEventListener('pointerleave', () => this.hint());
    this.map.addEventListener('keydown', moved);
    // The first call is for the size that is drawn already; drawing again would lose the focus.
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.map);
    this.show();
  }

  get part() {
    return this.way.at(-1);
  }

  /** Opens a part, which is inside of those above it. */
  open(part, above) {
    this.way.push(...above, ...through(part));
    this.show();
    this.map.querySelector('.tile')?.focus();
  }

  back(length) {
    this.way.length = length;
    this.show();
  }

  show() {
    const steps = this.way.map((part, at) => {
      const name = at === 0 ? this.page.save.data.file : part.name;
      const isLast = at === this.way.length - 1;
      return isLast
        ? el('strong', { 'aria-current': 'true' }, name)
        : [el('button', { type: 'button', class: 'quiet', onclick: () => this.back(at + 1) }, name), el('span', { 'aria-hidden': 'true' }, ' › ')];
    });
    const number = this.number(this.part);
    const table = number === undefined ? null : el('a', { class: 'button', href: `#table/${encodeURIComponent(this.page.save.classes[number].name)}` }, 'Show the table');
    fill(this.trail, steps, table);
    this.hint();
    this.draw();
  }

  /** The class that a part has, if the save has a table of it. */
  number(part) {
    return this.numbers.get(part.name) ?? this.numbers.get(part.kind);
  }

  hint() {
    const { part } = this;
    this.note.textContent = `${bytes(part.bytes)}, ${percent(part.bytes, this.whole.bytes)} of the save. Press an area to open it.`;
  }

  resized() {
    const { clientWidth: width, clientHeight: height } = this.map;
    if (width !== this.box.width || height !== this.box.height) this.draw();
  }

  draw() {
    const box = { x: 0, y: 0, width: this.map.clientWidth, height: this.map.clientHeight };
    this.box = box;
    const parts = largest(this.part);
    const boxes = squarify(parts.map((part) => part.bytes), box);
    fill(this.map, parts.map((part, at) => this.area(part, at, boxes[at])));
    if (parts.length === 0) fill(this.map, el('p', { class: 'none' }, 'Nothing is in it that has areas.'));
  }

  /** The colour of an area: that of its class, if that has one of its own, else the colours in turns. */
  colour(part, at) {
    if (part.name.startsWith('(')) return 'c10';
    const number = this.number(part) ?? at;
    return `c${number < 10 ? number : at % 10}`;
  }

  area(part, at, box) {
    const isNamed = box.width >= LEAST_WIDTH && box.height >= LEAST_HEIGHT + HEAD;
    const inner = isNamed ? this.inner(part, box) : [];
    const tile = this.tile(part, this.part, [], `tile kind${part.parts ? '' : ' leaf'}`);
    if (box.width >= LEAST_WIDTH && box.height >= LEAST_HEIGHT) {
      tile.append(el('span', {}, title(part)), isNamed ? el('span', { class: 'size' }, bytes(part.bytes)) : '');
    }
    return el('div', { class: `area ${this.colour(part, at)}`, style: place(box) }, tile, inner);
  }

  inner(part, box) {
    const above = through(part);
    const parts = largest(above.at(-1));
    const room = { x: 3, y: HEAD, width: box.width - 7, height: box.height - HEAD - 4 };
    const boxes = squarify(parts.map((inner) => inner.bytes), room);
    return parts.map((inner, at) => {
      const { width, height } = boxes[at];
      const tile = this.tile(inner, above.at(-1), above, 'tile field');
      Object.assign(tile.style, place(boxes[at]));
      if (width >= LEAST_WIDTH && height >= LEAST_HEIGHT) tile.append(el('span', {}, title(inner)));
      if (width >= LEAST_WIDTH && height >= 2 * LEAST_HEIGHT) tile.append(el('span', { class: 'size' }, bytes(inner.bytes)));
      return tile;
    });
  }

  tile(part, inside, above, look) {
    const kind = part.kind && part.kind !== part.name ? `, ${part.kind}` : '';
    const says = `${part.name}${kind}: ${bytes(part.bytes)} in ${counted(part.count, 'value')}, ${percent(part.bytes, inside.bytes)} of ${inside === this.whole ? 'the save' : inside.name}`;
    const open = () => {
      const number = this.number(part);
      if (part.parts) this.open(part, above);
      else if (number !== undefined) this.page.openTable(number);
      else if (above.length > 0 && this.number(above[0]) !== undefined) this.page.openTable(this.number(above[0]));
    };
    return el('button', { type: 'button', class: look, 'data-says': says, 'aria-label': says, onclick: open });
  }

  close() {
    this.observer.disconnect();
  }
}

/** A part and the parts in it that are alone: of lists, their elements. */
function through(part) {
  const way = [part];
  while (way.at(-1).parts?.length === 1 && way.at(-1).parts[0].parts) way.push(way.at(-1).parts[0]);
  return way;
}

/** The parts that have areas, the largest first. */
function largest(part) {
  return [...(part.parts ?? [])].sort((a, b) => b.bytes - a.bytes).slice(0, MOST);
}

/** A name without modules; a list by what it is of. */
function title(part) {
  if (part.name.startsWith('(')) return part.name.slice(1, -1);
  return part.name === '[]' ? `each ${shortClass(part.kind)}` : shortClass(part.name);
}

function place({ x, y, width, height }) {
  return { left: `${x}px`, top: `${y}px`, width: `${Math.max(0, width - 1)}px`, height: `${Math.max(0, height - 1)}px` };
}

/** Arrow keys move between the areas, in their order. */
function moved(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const tiles = [...event.currentTarget.querySelectorAll('.tile')];
  tiles[(tiles.indexOf(event.target) + step + tiles.length) % tiles.length]?.focus();
  event.preventDefault();
}
