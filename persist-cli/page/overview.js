// The first view: what the save is, where its bytes go, and objects worth a look.

import { breakable, el, fill } from './dom.js';
import { bytes, count, counted, percent, shortClass } from './format.js';
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
      figure(count(save.total), 'objects'),
      figure(count(data.totals.references), 'references'),
      figure(count(save.classes.length), 'classes'),
      figure(count(data.totals.cycles), 'cycles'),
      figure(count(data.totals.unreferenced), 'unreferenced'),
    ),
    sample(save),
    found(save),
    el('section', {}, el('h2', {}, 'Where the bytes go'), bar(save, total), classes(page, total)),
    el(
      'div',
      { class: 'cards' },
      card('Largest objects', top(save, (object) => save.bytes(object)), save, (object) => bytes(save.bytes(object))),
      card('Most referenced', top(save, (object) => save.inCount(object)), save, (object) => `${count(save.inCount(object))} references`),
      card('Most references', top(save, (object) => save.outCount(object)), save, (object) => `${count(save.outCount(object))} references`),
      cycles(save),
      card('Unreferenced', data.unreferenced.slice(0, MOST), save, (object) => shortClass(save.className(object)), data.totals.unreferenced),
      facts(save),
    ),
  );
  return {};
}

/** Says that the page has some objects of a large save. */
function sample(save) {
  if (!save.isSample) return null;
  return el(
    'p',
    { class: 'warning sample' },
    el('strong', {}, `${count(save.count)} of ${counted(save.total, 'object')}`),
    ' are in this page: the largest and most connected ones, and some of each class. All counts and bytes are of the whole save. ',
    el('code', {}, '--find TEXT'), ' adds the objects with a text, ', el('code', {}, '--all'), ' shows all.',
  );
}

/** The objects that were asked for by `--find`. */
function found(save) {
  const { find } = save.data;
  if (!find) return null;
  const rows = find.objects.map((object, place) =>
    el('li', {}, link(save, object), el('span', { class: 'quiet path' }, breakable(find.paths[place]))),
  );
  const most = 200;
  const list = el('ul', {}, rows.slice(0, most));
  const rest = rows.length > most ? el('button', { type: 'button', class: 'quiet', onclick: () => fill(list, rows) && rest.remove() }, `show ${count(rows.length - most)} more`) : null;
  const note = rows.length < find.total ? el('p', { class: 'none' }, `This page has ${count(rows.length)} of ${count(find.total)}.`) : null;
  return el(
    'section',
    { class: 'card found' },
    el('h2', {}, `With “${find.text}”`, el('span', { class: 'count' }, `${counted(find.total, 'object')}, ${counted(find.values, 'value')}`)),
    rows.length > 0 ? list : el('p', { class: 'none' }, 'Nothing in the save has it.'),
    rest,
    note,
  );
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
      el('th', { scope: 'row' }, swatch(number), el('a', { href: `#table/${encodeURIComponent(kind.name)}` }, breakable(kind.name))),
      el('td', {}, count(kind.records)),
      el('td', {}, bytes(kind.bytes)),
      el('td', {}, percent(kind.bytes, total)),
      el('td', {}, bytes(kind.records ? kind.bytes / kind.records : 0)),
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
  const rows = save.data.cycles.slice(0, MOST).map(({ objects, size }) =>
    el('li', {}, link(save, objects[0]), el('span', { class: 'quiet' }, `and ${count(size - 1)} more`)),
  );
  return el(
    'section',
    { class: 'card' },
    el('h2', {}, 'Cycles', el('span', { class: 'count' }, count(save.data.totals.cycles))),
    el('ul', {}, rows),
  );
}

function facts(save) {
  const rows = save.data.facts.map(([name, text]) => [el('dt', {}, name), el('dd', {}, text)]);
  const { value } = save.data;
  if (value !== null) rows.push([el('dt', {}, 'value'), el('dd', {}, show(save, value))]);
  return el('section', { class: 'card' }, el('h2', {}, 'What the save says'), el('dl', { class: 'fields' }, rows));
}
