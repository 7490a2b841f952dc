// Values of fields: as short text, to sort and to search by, and as elements with links.
//
// Numbers, truth values, text, `null` for none, and lists are themselves. Everything else is an object:
// `{r}` a reference, `{o}` the id of an object that the page does not have, `{s, f}` a record of a shape, `{m}` a map, `{x, n}` bytes, `{d}` a number that JSON cannot hold,
// `{h}` a handle, `{l, n}` and `{t, n}` the beginning of a list and of a text, `{deep}` what is nested too deep to show.

import { copyButton, el, oneLine } from './dom.js';
import { count, counted, shortClass } from './format.js';
import { elementPath, entryPath, fieldPath } from './path.js';

/** How many parts of a value are shown at first, and with each press of its button. */
const PARTS = 40;

/** The value of a field in a row of a table, in the form that nested values have. */
export function cell(save, column, row) {
  const value = column.values[row];
  if (column.is === 'text') return value < 0 ? null : save.strings[value];
  if (column.is === 'reference' && typeof value === 'number') return value < 0 ? null : { r: value };
  return value;
}

/** By what rows are sorted: a number or text. */
export function sortKey(save, column, row) {
  const value = column.values[row];
  if (column.is === 'number') return typeof value === 'object' && value !== null ? Number(value.d) : value;
  if (column.is === 'bool') return value === null ? null : Number(value);
  return value === null || value === -1 ? null : textOf(save, cell(save, column, row), 80);
}

/** A value on one line, of about as many characters as are asked for. */
export function textOf(save, value, most) {
  const out = { text: '', most };
  write(save, value, out);
  return oneLine(out.text.length > most ? `${out.text.slice(0, most)}…` : out.text);
}

function write(save, value, out) {
  if (out.text.length > out.most) return;
  if (value === null || value === undefined) out.text += 'none';
  else if (typeof value === 'string') out.text += value;
  else if (typeof value !== 'object') out.text += String(value);
  else if (Array.isArray(value)) list(save, '[', value, ']', out);
  else if ('r' in value) out.text += value.r < 0 ? 'dangling' : save.label(value.r);
  else if ('o' in value) out.text += `#${idOf(value.o)}`;
  else if ('s' in value) record(save, value, out);
  else if ('m' in value) map(save, value.m, out);
  else if ('l' in value) list(save, '[', value.l, `, … ${count(value.n)}]`, out);
  else out.text += plain(value);
}

function list(save, open, values, close, out) {
  out.text += open;
  values.every((value, place) => {
    if (place > 0) out.text += ', ';
    write(save, value, out);
    return out.text.length <= out.most;
  });
  out.text += close;
}

function map(save, entries, out) {
  out.text += '{';
  entries.every(([key, value], place) => {
    if (place > 0) out.text += ', ';
    write(save, key, out);
    out.text += ': ';
    write(save, value, out);
    return out.text.length <= out.most;
  });
  out.text += '}';
}

function record(save, { s, f = [] }, out) {
  const shape = save.shapes[s];
  out.text += shapeName(shape);
  if (f.length === 0) return;
  out.text += ' {';
  f.every((value, place) => {
    out.text += place > 0 ? ', ' : ' ';
    out.text += `${shape.fields[place]}: `;
    write(save, value, out);
    return out.text.length <= out.most;
  });
  out.text += ' }';
}

/** A variant by its name, a struct by that of its class. */
function shapeName(shape) {
  return shape.variant ?? shortClass(shape.class);
}

function idOf(id) {
  return typeof id === 'object' ? id.d : id;
}

function plain(value) {
  if ('d' in value) return value.d;
  if ('h' in value) return value.h;
  if ('t' in value) return `${value.t}… (${count(value.n)} characters)`;
  if ('x' in value) return `${value.x}${value.x.length < 2 * value.n ? '…' : ''} (${count(value.n)} bytes)`;
  return '…';
}

/**
 * A value as elements. Parts of long values come as they are asked for, so that no value freezes the page. With the path
 * of the value, its parts have buttons that copy theirs.
 */
export function show(save, value, path = null) {
  if (value === null || value === undefined) return el('span', { class: 'none' }, 'none');
  if (typeof value === 'string') return el('span', { class: 'text' }, value);
  if (typeof value !== 'object') return el('span', { class: 'number' }, String(value));
  if (Array.isArray(value)) return showList(save, value, value.length, path);
  if ('r' in value) return link(save, value.r);
  if ('o' in value) return el('span', { class: 'object away', title: 'This page does not have the object' }, el('span', { class: 'id' }, `#${idOf(value.o)}`));
  if ('s' in value) return showRecord(save, value, path);
  if ('m' in value) {
    return details(counted(value.n ?? value.m.length, 'entry', 'entries'), value.m, value.n ?? value.m.length, ([key, part]) =>
      partOf(textOf(save, key, 80), save, part, entryPath(save, path, key)),
    );
  }
  if ('l' in value) return showList(save, value.l, value.n, path);
  return el('span', { class: 't' in value ? 'text' : 'number' }, plain(value));
}

/** A link to an object. */
export function link(save, object) {
  if (object < 0) return el('span', { class: 'none' }, 'dangling');
  // The other save of a comparison has no view of its own to go to.
  const [tag, target] = save.number === 0 ? ['a', { href: `#@${save.key(object)}` }] : ['span', {}];
  return el(
    tag,
    { class: 'object', ...target },
    swatch(save.classOf(object)),
    save.name(object) ? el('span', { class: 'name' }, oneLine(save.name(object))) : null,
    el('span', { class: 'id' }, `#${save.id(object)}`),
  );
}

/** A dot in the colour of a class. */
export function swatch(number) {
  return el('span', { class: `swatch c${Math.min(number, 10)}`, 'aria-hidden': 'true' });
}

/** A part of a value, with its key and a button that copies its path. */
function partOf(key, save, value, path) {
  return el('div', { class: 'part' }, el('span', { class: 'key' }, key), show(save, value, path), path === null ? null : copyButton(path, 'the path'));
}

function showList(save, values, total, path) {
  if (total === 0) return el('span', { class: 'none' }, 'empty');
  const isShort = total <= 4 && values.every((value) => typeof value !== 'object');
  if (isShort) return el('span', { class: 'number' }, textOf(save, values, 120));
  return details(counted(total, 'element'), values, total, (part, place) => partOf(place, save, part, elementPath(path, place)));
}

function showRecord(save, { s, f = [] }, path) {
  const shape = save.shapes[s];
  const name = shapeName(shape);
  if (f.length === 0) return el('span', { class: 'variant' }, name);
  const isShort = f.length <= 3 && f.every((value) => typeof value !== 'object' && String(value).length < 12);
  if (isShort) {
    const fields = f.map((value, place) => [
      el('span', { class: 'key' }, `${shape.fields[place]} `), el('span', { class: 'number' }, String(value)), '  ',
    ]);
    return el('span', { class: 'inline' }, el('span', { class: 'variant' }, name), ' ', fields);
  }
  return details(name, f, f.length, (part, place) => partOf(shape.fields[place], save, part, fieldPath(path, shape.fields[place])));
}

function details(summary, parts, total, element) {
  const body = el('div', { class: 'parts' });
  const more = el('button', { type: 'button', class: 'quiet' });
  let shown = 0;
  const showMore = () => {
    const next = parts.slice(shown, shown + PARTS);
    body.append(...next.map((part, place) => element(part, shown + place)));
    shown += next.length;
    const rest = parts.length - shown;
    more.textContent = rest > 0 ? `show ${count(Math.min(rest, PARTS))} more of ${count(rest)}` : '';
    more.hidden = rest === 0;
    if (rest === 0 && parts.length < total) {
      body.append(el('p', { class: 'none' }, `The page has the first ${count(parts.length)} of ${count(total)}.`));
    }
  };
  more.addEventListener('click', showMore);
  const box = el('details', { class: 'nested' }, el('summary', {}, summary), body, more);
  const open = () => {
    if (box.open && shown === 0) showMore();
  };
  box.addEventListener('toggle', open);
  if (parts.length <= 6) {
    box.open = true;
    showMore();
  }
  return box;
}
