// Two saves side by side: the objects that differ, and the fields of the chosen one before and after.

import { breakable, el, fill, oneLine } from './dom.js';
import { count, counted, shortClass } from './format.js';
import { Rows } from './rows.js';
import { cell, show, swatch } from './value.js';

const SORTS = [['changed', 'Changed'], ['added', 'Added'], ['gone', 'Gone']];

/** Fields of an object that are shown. */
const MOST_FIELDS = 300;

export function compare(page, element) {
  return new Compare(page, element);
}

class Compare {
  constructor(page, element) {
    this.page = page;
    [this.before, this.after] = page.report.saves;
    const { diff } = page.report;
    this.all = [
      ...diff.a.map((a, place) => ({ sort: 'changed', a, b: diff.b[place], fields: diff.fields[place].map((field) => diff.names[field]) })),
      ...diff.added.map((b) => ({ sort: 'added', a: -1, b, fields: [] })),
      ...diff.gone.map((a) => ({ sort: 'gone', a, b: -1, fields: [] })),
    ];
    this.sorts = new Set(SORTS.map(([sort]) => sort));
    this.rows = new Rows({
      label: 'Objects that differ', height: 40, render: (place) => this.row(this.shown[place]), open: (place) => this.open(this.shown[place]),
    });
    this.rows.element.classList.add('differing');
    this.sides = el('div', { class: 'sides', tabindex: 0, 'aria-label': 'Fields before and after', role: 'region' });
    const switches = SORTS.map(([sort, name]) => {
      const total = diff.totals[sort];
      const box = el('input', { type: 'checkbox', checked: true, onchange: () => this.filter(sort, box.checked) });
      return el('label', { class: `switch ${sort}` }, box, `${name} `, el('span', { class: 'count' }, count(total)));
    });
    fill(
      element,
      el('div', { class: 'tools' }, el('h1', {}, `${this.before.data.file} and ${this.after.data.file}`), switches, this.some()),
      el('div', { class: 'halves' }, this.rows.element, this.sides),
    );
    this.filter();
  }

  /** Says how many of the objects that differ the page has. */
  some() {
    const { totals } = this.page.report.diff;
    const total = totals.changed + totals.added + totals.gone;
    return this.all.length < total ? el('span', { class: 'warning' }, `${count(this.all.length)} of ${counted(total, 'object')} that differ are in this page; “persist diff” prints all`) : null;
  }

  filter(sort, isOn) {
    if (sort) this.sorts[isOn ? 'add' : 'delete'](sort);
    this.shown = this.all.filter((row) => this.sorts.has(row.sort));
    this.rows.show(this.shown.length, 0);
    if (this.shown.length > 0) this.open(this.shown[0]);
    else fill(this.sides, el('p', { class: 'none' }, this.all.length === 0 ? 'The saves have the same objects and values.' : 'Nothing of these kinds differs.'));
  }

  of(row) {
    return row.b < 0 ? [this.before, row.a] : [this.after, row.b];
  }

  row(row) {
    const [save, object] = this.of(row);
    const names = row.fields.map(([, field]) => field || 'value').join(', ');
    return [
      el('span', { class: `sign ${row.sort}`, 'aria-label': row.sort }, { changed: '~', added: '+', gone: '−' }[row.sort]),
      swatch(save.classOf(object)),
      el('span', { class: 'name' }, oneLine(save.name(object)) || shortClass(save.className(object)), el('span', { class: 'id' }, ` #${save.id(object)}`)),
      el('span', { class: 'quiet', title: names }, names),
    ];
  }

  /** Shows the fields of an object. Of one that is in a single save, all; else those that differ, then the rest. */
  open(row) {
    const [save, object] = this.of(row);
    const old = row.a < 0 ? null : fieldsOf(this.before, row.a);
    const now = row.b < 0 ? null : fieldsOf(this.after, row.b);
    const names = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])];
    const differing = new Set(row.fields.map(keyOf));
    const isDiffering = (key) => row.sort !== 'changed' || differing.has(key);
    const line = (key) => {
      const [, name] = JSON.parse(key);
      return el(
        'tr',
        { class: isDiffering(key) ? row.sort : 'same' },
        el('th', { scope: 'row' }, name || 'value'),
        el('td', { class: 'old' }, old?.has(key) ? show(this.before, old.get(key)) : '–'),
        el('td', { class: 'new' }, now?.has(key) ? show(this.after, now.get(key)) : '–'),
      );
    };
    const same = names.filter((key) => !isDiffering(key));
    fill(
      this.sides,
      el('h2', {}, swatch(save.classOf(object)), save.name(object) || save.path(object), el('span', { class: 'quiet' },  ' ', breakable(save.className(object)), ` ${save.path(object)}`)),
      el(
        'table',
        { class: 'plain two' },
        el('thead', {}, el('tr', {}, ['field', this.before.data.file, this.after.data.file].map((name) => el('th', { scope: 'col' }, name)))),
        el('tbody', {}, names.filter(isDiffering).slice(0, MOST_FIELDS).map(line)),
        same.length > 0 ? el('tbody', { class: 'rest' }, el('tr', { class: 'note' }, el('th', { colspan: 3, scope: 'rowgroup' }, counted(same.length, 'field is the same', 'fields are the same'))), same.slice(0, MOST_FIELDS).map(line)) : null,
      ),
    );
  }

  close() {
    this.rows.close();
  }
}

function keyOf(name) {
  return JSON.stringify(name);
}

/** The values of an object by class and field. */
function fieldsOf(save, object) {
  const fields = new Map();
  for (const part of save.partsOf(object)) {
    for (const column of save.table(part.class).columns) {
      fields.set(keyOf([save.classes[part.class].name, column.name]), cell(save, column, part.row));
    }
  }
  return fields;
}
