// The records of a class as a table: sorted by a column, filtered by text. Only the rows that are seen are drawn.

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
  const number = Math.min(Math.max(0, Number(argument) || 0), save.classes.length - 1);
  if (save.classes.length === 0) {
    fill(element, el('h1', {}, 'Tables'), el('p', { class: 'none' }, 'The save has no objects.'));
    return {};
  }
  return new Table(page, element, number);
}

class Table {
  constructor(page, element, number) {
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
    this.rows = new Rows({
      label: `Records of ${this.kind.name}`, columns: heads.length,
      head: el('div', { class: 'row', role: 'row', 'aria-rowindex': 1 }, this.heads),
      render: (place) => this.cells(this.shown[place]),
      open: (place) => page.choose(this.kind.objects[this.shown[place]]),
    });
    this.rows.element.style.setProperty('--columns', this.widths());
    this.note = el('span', { class: 'quiet', role: 'status' });
    this.filter = el('input', {
      type: 'search', placeholder: 'Filter rows', 'aria-label': 'Filter rows by text in any column', id: 'filter',
      oninput: debounced(120, () => this.show()),
    });
    const choice = el(
      'select',
      { 'aria-label': 'Class', id: 'class', onchange: () => page.open('table', Number(choice.value)) },
      this.save.classes.slice(0, MOST_CLASSES).map((kind, at) => el('option', { value: at, selected: at === number }, `${kind.name} (${count(kind.objects.length)})`)),
    );
    fill(
      element,
      el('div', { class: 'tools' }, el('h1', {}, choice), this.filter, this.note, el('span', { class: 'quiet right' }, bytes(this.kind.bytes))),
      this.rows.element,
    );
    this.show();
    this.choose(page.state.object);
  }

  /** Columns as wide as what they hold, by some of their rows. */
  widths() {
    const some = this.sorted.slice(0, 40);
    const widths = this.columns.map((column) => {
      const texts = some.map((row) => textOf(this.save, cell(this.save, column, row), 44).length);
      const most = Math.max((column.name || 'value').length + 3, ...texts);
      return `${Math.min(44, Math.max(7, most)) + 3}ch`;
    });
    return ['minmax(20ch, 1fr)', ...widths].join(' ');
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
      return el('div', { role: 'gridcell', 'aria-colindex': at + 2, class: name }, content);
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
    const wanted = this.filter.value.trim().toLowerCase();
    let shown = this.sorted;
    if (wanted !== '') {
      shown = [];
      for (let at = 0; at < this.sorted.length; at += 1) {
        if (this.has(this.sorted[at], wanted)) shown.push(this.sorted[at]);
        if (at % SLICE === SLICE - 1) {
          await breath();
          if (run !== this.run) return;
        }
      }
    }
    this.shown = shown;
    this.rows.show(shown.length, this.place(this.page.state.object));
    this.note.textContent = shown.length === this.sorted.length ? counted(shown.length, 'row') : `${count(shown.length)} of ${counted(this.sorted.length, 'row')}`;
    if (this.kind.fields.length > MOST_COLUMNS) this.note.textContent += `, the first ${count(MOST_COLUMNS)} of ${count(this.kind.fields.length)} fields`;
  }

  has(row, wanted) {
    const { save } = this;
    if (save.label(this.kind.objects[row]).toLowerCase().includes(wanted)) return true;
    return this.columns.some((column) => textOf(save, cell(save, column, row), 400).toLowerCase().includes(wanted));
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
