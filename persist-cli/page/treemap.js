// Where the bytes go, as areas: classes, and the fields in them.

import { el, fill } from './dom.js';
import { bytes, counted, percent, shortClass } from './format.js';
import { squarify } from './squarify.js';

/** Room for the name of a class above its fields. */
const HEAD = 24;
/** Sides below which an area has no text. */
const LEAST_WIDTH = 46;
const LEAST_HEIGHT = 18;
/** The largest classes, and fields of a class, that have areas. */
const MOST_CLASSES = 300;
const MOST_FIELDS = 60;

export function treemap(page, element) {
  const { save } = page;
  const total = save.classes.reduce((sum, kind) => sum + kind.bytes, 0);
  const map = el('div', { class: 'map', role: 'group', 'aria-label': 'Bytes by class and field' });
  const note = el('p', { class: 'quiet', 'aria-live': 'polite' }, hint(total));
  fill(element, el('h1', {}, 'Bytes by class and field'), note, map);
  const draw = () => {
    const box = { x: 0, y: 0, width: map.clientWidth, height: map.clientHeight };
    const known = save.classes.map((kind, number) => ({ kind, number })).filter(({ kind }) => kind.bytes > 0).slice(0, MOST_CLASSES);
    const boxes = squarify(known.map(({ kind }) => kind.bytes), box);
    fill(map, known.map(({ kind, number }, place) => area(page, kind, number, boxes[place], total)));
  };
  const say = (event) => {
    const tile = event.target.closest('[data-says]');
    if (tile) note.textContent = tile.dataset.says;
  };
  map.addEventListener('pointerover', say);
  map.addEventListener('focusin', say);
  map.addEventListener('pointerleave', () => (note.textContent = hint(total)));
  map.addEventListener('keydown', moved);
  const observer = new ResizeObserver(draw);
  observer.observe(map);
  return { close: () => observer.disconnect() };
}

function hint(total) {
  return `${bytes(total)} in values. Point at an area for its numbers, press it for the table of its class.`;
}

function area(page, kind, number, box, total) {
  const isNamed = box.width >= LEAST_WIDTH && box.height >= LEAST_HEIGHT + HEAD;
  const says = `${kind.name}: ${bytes(kind.bytes)}, ${percent(kind.bytes, total)} of all, in ${counted(kind.objects.length, 'record')}`;
  const tile = el('button', {
    type: 'button', class: 'tile kind', 'data-says': says, 'aria-label': says, onclick: () => page.open('table', number),
  });
  if (box.width >= LEAST_WIDTH && box.height >= LEAST_HEIGHT) {
    tile.append(el('span', {}, shortClass(kind.name)), isNamed ? el('span', { class: 'size' }, bytes(kind.bytes)) : '');
  }
  const children = isNamed ? fields(page, kind, number, box) : [];
  return el('div', { class: `area c${Math.min(number, 10)}`, style: place(box) }, tile, children);
}

function fields(page, kind, number, box) {
  const known = kind.fields.filter((field) => field.bytes > 0).sort((a, b) => b.bytes - a.bytes).slice(0, MOST_FIELDS);
  const inner = { x: 3, y: HEAD, width: box.width - 7, height: box.height - HEAD - 4 };
  const boxes = squarify(known.map((field) => field.bytes), inner);
  return known.map((field, at) => {
    const says = `${kind.name}, ${field.name || 'value'}: ${bytes(field.bytes)}, ${percent(field.bytes, kind.bytes)} of its class`;
    const isNamed = boxes[at].width >= LEAST_WIDTH && boxes[at].height >= LEAST_HEIGHT;
    return el(
      'button',
      {
        type: 'button', class: 'tile field', style: place(boxes[at]), 'data-says': says, 'aria-label': says,
        onclick: () => page.open('table', number),
      },
      isNamed ? el('span', {}, field.name || 'value') : null,
      isNamed && boxes[at].height >= 2 * LEAST_HEIGHT ? el('span', { class: 'size' }, bytes(field.bytes)) : null,
    );
  });
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
