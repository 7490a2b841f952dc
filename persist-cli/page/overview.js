// The first view: what the save is, where its bytes go, and objects worth a look.

import { el, fill } from './dom.js';
import { bytes, count, percent, shortClass } from './format.js';
import { link, show, swatch } from './value.js';

/** Objects in each list. */
const MOST = 8;
/** Classes in the bar; the rest is one part. */
const PARTS = 10;
/** Rows of the table of classes: a malicious save may have a million. */
const CLASSES = 200;

export function overview(page, element) {
  const { save } = page;
  const { data } = save;
  const total = save.classes.reduce((sum, kind) => sum + kind.bytes, 0);
  fill(
    element,
    el('h1', {}, data.file),
    el(
      'dl',
      { class: 'figures' },
      figure(bytes(data.size), 'file'),
      figure(count(save.count), 'objects'),
      figure(count(save.references.from.length), 'references'),
      figure(count(save.classes.length), 'classes'),
      figure(count(save.cycles.length), 'cycles'),
      figure(count(data.unreferenced.length), 'unreferenced'),
    ),
    el('section', {}, el('h2', {}, 'Where the bytes go'), bar(save, total), classes(page, total)),
    el(
      'div',
      { class: 'cards' },
      card('Largest objects', top(save, (object) => save.bytes(object)), save, (object) => bytes(save.bytes(object))),
      card('Most referenced', top(save, (object) => save.inCount(object)), save, (object) => `${count(save.inCount(object))} references`),
      card('Most references', top(save, (object) => save.outCount(object)), save, (object) => `${count(save.outCount(object))} references`),
      cycles(save),
      card('Unreferenced', data.unreferenced.slice(0, MOST), save, (object) => shortClass(save.className(object)), data.unreferenced.length),
      facts(save),
    ),
  );
  return {};
}

function figure(value, name) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value));
}

function bar(save, total) {
  const parts = save.classes.slice(0, PARTS).map((kind, number) => ({ number, bytes: kind.bytes }));
  const rest = save.classes.slice(PARTS).reduce((sum, kind) => sum + kind.bytes, 0);
  if (rest > 0) parts.push({ number: PARTS, bytes: rest });
  return el(
    'div',
    { class: 'stack', 'aria-hidden': 'true' },
    parts.map((part) =>
      el('span', { class: `c${part.number}`, style: { flexGrow: part.bytes / Math.max(1, total) }, title: save.classes[part.number].name }),
    ),
  );
}

function classes(page, total) {
  const { save } = page;
  const rows = save.classes.slice(0, CLASSES).map((kind, number) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, swatch(number), el('a', { href: `#table/${number}` }, kind.name)),
      el('td', {}, count(kind.objects.length)),
      el('td', {}, bytes(kind.bytes)),
      el('td', {}, percent(kind.bytes, total)),
      el('td', {}, bytes(kind.objects.length ? kind.bytes / kind.objects.length : 0)),
    ),
  );
  const head = ['class', 'records', 'bytes', 'share', 'each'];
  return el(
    'div',
    { class: 'scroller' },
    el(
      'table',
      { class: 'plain' },
      el('thead', {}, el('tr', {}, head.map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, rows),
    ),
    save.classes.length > CLASSES ? el('p', { class: 'none' }, `The ${count(CLASSES)} largest of ${count(save.classes.length)}.`) : null,
  );
}

/** The objects with the most of something, found without sorting all. */
function top(save, measure) {
  const best = [];
  for (let object = 0; object < save.count; object += 1) {
    const value = measure(object);
    if (value === 0 || (best.length === MOST && value <= best[MOST - 1].value)) continue;
    const place = best.findIndex((other) => other.value < value);
    best.splice(place < 0 ? best.length : place, 0, { object, value });
    best.length = Math.min(best.length, MOST);
  }
  return best.map(({ object }) => object);
}

function card(title, objects, save, note, total = objects.length) {
  if (objects.length === 0) return null;
  return el(
    'section',
    { class: 'card' },
    el('h2', {}, title, total > objects.length ? el('span', { class: 'count' }, count(total)) : null),
    el('ul', {}, objects.map((object) => el('li', {}, link(save, object), el('span', { class: 'quiet' }, note(object))))),
  );
}

function cycles(save) {
  if (save.cycles.length === 0) return null;
  const rows = save.cycles.slice(0, MOST).map((members) =>
    el('li', {}, link(save, members[0]), el('span', { class: 'quiet' }, `and ${count(members.length - 1)} more`)),
  );
  return el(
    'section',
    { class: 'card' },
    el('h2', {}, 'Cycles', el('span', { class: 'count' }, count(save.cycles.length))),
    el('ul', {}, rows),
  );
}

function facts(save) {
  const rows = save.data.facts.map(([name, text]) => [el('dt', {}, name), el('dd', {}, text)]);
  const { value } = save.data;
  if (value !== null) rows.push([el('dt', {}, 'value'), el('dd', {}, show(save, value))]);
  return el('section', { class: 'card' }, el('h2', {}, 'What the save says'), el('dl', { class: 'fields' }, rows));
}
