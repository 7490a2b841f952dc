// The records of a class as a table: sorted by a column, filtered by text or by a condition. Only the rows that are seen
// are drawn.

import { isCondition, readCondition } from './condition.js';
import { csvOf, download } from './csv.js';
import { announce, breath, debounced, el, fill } from './dom.js';
import { bytes, count, counted } from './format.js';
import { Rows } from './rows.js';
import { cell, link, sortKey, textOf } from './value.js';

/** Rows that are compared with the filter before the browser may do something else. */
const SLICE = 4000;
/** The first columns, which are drawn, and classes to choose from. */
const MOST_COLUMNS = 150;
const MOST_CLASSES = 2000;

export function table(page, element, argument) {
  const { save } = page;
  const named = save.classes.findIndex((kind) => encodeURIComponent(kind.name) === argument);
  const number = Math.max(0, named);
  if (save.classes.length === 0) {
    fill(element, el('h1', {}, 'Tables'), el('p', { class: 'none' }, 'The save has no objects.'));
    return {};
  }
  return new Table(page, element, number, argument !== null && named < 0);
}

class Table {
  constructor(page, element, number, isOther) {
    this.page = page;
    this.save = page.save;
    this.number = number;
    this.kind = this.save.classes[number];
    this.columns = this.save.table(number).columns.slice(0, MOST_COLUMNS);
    this.order = { column: -1, sign: 1 };
    this.sorted = this.kind.objects.map((_, row) => row);
    this.shown = this.sorted;
    this.run = 0;
    const heads = ['object', ...this.columns.map((column) => column.name || 'value')];
    this.heads = heads.map((name, at) => this.head(name, at - 1));
    if (isOther) page.tell('The save has no objects of the class of this address; here is the largest one.');
    this.rows = new Rows({
      label: `Records of ${this.kind.name}`, columns: heads.length,
      head: el('div', { class: 'row', role: 'row', 'aria-rowindex': 1 }, this.heads),
      render: (place) => this.cells(this.shown[place]),
      open: (place) => page.choose(this.kind.objects[this.shown[place]]),
    });
    const widths = this.widths();
    const columns = (width) => widths.map(width).join(' ');
    this.rows.element.style.setProperty('--columns', columns((width) => `minmax(${width}ch, ${width}fr)`));
    // On paper all columns share its width, and long values have several lines.
    this.rows.element.style.setProperty('--printed', columns((width) => `minmax(0, ${Math.sqrt(width).toFixed(1)}fr)`));
    this.note = el('span', { class: 'quiet note', role: 'status' });
    this.filter = el('input', {
      type: 'search', placeholder: 'Text, or health < 5', title: 'A text, or a condition: health < 5 && name == "sword"',
      'aria-label': 'Filter rows by a text or a condition', id: 'filter', autocomplete: 'off', spellcheck: 'false',
      oninput: debounced(120, () => this.show()),
    });
    this.column = el(
      'select',
      { 'aria-label': 'Column to filter by', id: 'column', onchange: () => this.show() },
      el('option', { value: -2 }, 'any column'),
      heads.map((name, at) => el('option', { value: at - 1 }, name)),
    );
    const csv = el('button', { type: 'button', class: 'quiet', id: 'csv', title: 'Save these rows as a CSV file', onclick: () => this.saveCsv() }, 'CSV');
    const choice = el(
      'select',
      { 'aria-label': 'Class', id: 'class', onchange: () => page.openTable(Number(choice.value)) },
      this.save.classes.slice(0, MOST_CLASSES).map((kind, at) => el('option', { value: at, selected: at === number }, `${kind.name} (${count(kind.records)})`)),
    );
    fill(
      element,
      el('div', { class: 'tools' }, el('h1', {}, choice), el('div', { class: 'filter', role: 'search' }, this.column, this.filter), this.note, el('span', { class: 'right' }, el('span', { class: 'quiet' }, bytes(this.kind.bytes)), ' ', csv)),
      this.rows.element,
    );
    this.show();
    this.choose(page.state.object);
  }

  /** The characters for which columns have room, by some of their rows from all over the table. */
  widths() {
    const step = Math.max(1, Math.floor(this.sorted.length / 120));
    const some = this.sorted.filter((_, place) => place < 40 || place % step === 0);
    const width = (name, texts, least) => {
      return Math.min(44, Math.max(least, name.length + 3, ...texts.map((text) => text.length))) + 3;
    };
    const objects = some.map((row) => `    ${this.save.label(this.kind.objects[row])}`);
    const others = this.columns.map((column) => {
      const texts = some.map((row) => {
        const value = cell(this.save, column, row);
        // A link has the colour of its class before it.
        const lead = typeof value === 'object' && value !== null && 'r' in value ? '    ' : '';
        return lead + textOf(this.save, value, 44);
      });
      return width(column.name || 'value', texts, 7);
    });
    return [width('object', objects, 16), ...others];
  }

  head(name, column) {
    return el(
      'div',
      { role: 'columnheader', 'aria-colindex': column + 2, 'aria-sort': 'none', class: this.columns[column]?.is === 'number' ? 'right' : null },
      el('button', { type: 'button', onclick: () => this.sort(column) }, name),
    );
  }

  cells(row) {
    const object = el('div', { role: 'gridcell', 'aria-colindex': 1 }, link(this.save, this.kind.objects[row]));
    const others = this.columns.map((column, at) => {
      const value = cell(this.save, column, row);
      const isLink = typeof value === 'object' && value !== null && 'r' in value;
      const content = isLink ? link(this.save, value.r) : textOf(this.save, value, 60);
      const name = value === null ? 'none' : column.is;
      const title = typeof content === 'string' && content.length > 12 ? content : null;
      return el('div', { role: 'gridcell', 'aria-colindex': at + 2, class: name, title }, content);
    });
    return [object, others];
  }

  async sort(column) {
    const { order } = this;
    order.sign = order.column === column ? -order.sign : 1;
    order.column = column;
    this.heads.forEach((head, at) => {
      const isIt = at - 1 === column;
      head.setAttribute('aria-sort', isIt ? (order.sign > 0 ? 'ascending' : 'descending') : 'none');
    });
    const { save, kind, columns } = this;
    const key = column < 0 ? (row) => save.label(kind.objects[row]) : (row) => sortKey(save, columns[column], row);
    const keys = kind.objects.map((_, row) => key(row));
    const isText = keys.some((value) => typeof value === 'string');
    const compare = isText ? byText : (a, b) => a - b;
    this.sorted = kind.objects.map((_, row) => row).sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      // None is last in both directions.
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return order.sign * compare(x, y) || a - b;
    });
    await this.show();
    announce(`sorted by ${columns[column]?.name ?? 'object'}, ${order.sign > 0 ? 'ascending' : 'descending'}`);
  }

  /** Filters, and shows what is left. A later call stops one that is not done. */
  async show() {
    const run = (this.run += 1);
    const wanted = this.filter.value.trim();
    let shown = this.sorted;
    if (wanted !== '') {
      let has;
      try {
        has = this.test(wanted);
      } catch (error) {
        this.say(error.message, true);
        return;
      }
      shown = [];
      for (let at = 0; at < this.sorted.length; at += 1) {
        if (has(this.sorted[at])) shown.push(this.sorted[at]);
        if (at % SLICE === SLICE - 1) {
          await breath();
          if (run !== this.run) return;
        }
      }
    }
    this.shown = shown;
    this.rows.show(shown.length, this.place(this.page.state.object));
    const { kind, sorted } = this;
    let text = shown.length === sorted.length ? counted(shown.length, 'row') : `${count(shown.length)} of ${counted(sorted.length, 'row')}`;
    if (kind.records > sorted.length) text += ` in this page, ${count(kind.records)} in the save`;
    if (kind.fields.length > MOST_COLUMNS) text += `, the first ${count(MOST_COLUMNS)} of ${count(kind.fields.length)} fields`;
    this.say(text);
  }

  say(text, isWrong = false) {
    this.note.classList.toggle('wrong', isWrong);
    fill(this.note, text);
  }

  /** Returns what says of a row whether it has a text, or whether a condition holds. */
  test(wanted) {
    const { save } = this;
    const chosen = Number(this.column.value);
    const column = this.columns[chosen];
    if (isCondition(wanted)) {
      const holds = readCondition(wanted, column?.name ?? null);
      const names = this.columns.map(({ name }) => name);
      const unknown = holds.fields.find((name) => !names.includes(name));
      if (unknown !== undefined) throw new Error(`there is no field “${unknown}”`);
      return (row) => holds(save, (name) => [cell(save, this.columns[names.indexOf(name)], row)]);
    }
    const text = wanted.toLowerCase();
    const has = (at, row) => textOf(save, cell(save, at, row), 400).toLowerCase().includes(text);
    const isObject = (row) => save.label(this.kind.objects[row]).toLowerCase().includes(text);
    if (column) return (row) => has(column, row);
    return (row) => isObject(row) || (chosen === -2 && this.columns.some((at) => has(at, row)));
  }

  /** Saves the rows that are left, in their order. */
  saveCsv() {
    const { save, kind } = this;
    download(`${kind.name.replace(/[^\w.-]/g, '_')}.csv`, csvOf(save, kind, save.table(this.number).columns, this.shown));
  }

  place(object) {
    return object < 0 ? -1 : this.shown.findIndex((row) => this.kind.objects[row] === object);
  }

  choose(object) {
    const place = this.place(object);
    if (place >= 0 && place !== this.rows.current) this.rows.move(place);
    else this.rows.draw();
  }

  close() {
    this.run += 1;
    this.rows.close();
  }
}

/** As plain text: a collator of the language would take a second for 100,000 rows. */
function byText(a, b) {
  return a < b ? -1 : Number(a > b);
}
