// The entries of a journal in their order, and the changes of the chosen one.

import { el, fill } from './dom.js';
import { bytes, count, counted } from './format.js';
import { Rows } from './rows.js';

export function timeline(page, element) {
  return new Timeline(page, element);
}

class Timeline {
  constructor(page, element) {
    const { journal } = page.report;
    this.entries = journal.entries;
    this.rows = new Rows({
      label: 'Entries of the journal', height: 44, render: (place) => this.row(place), open: (place) => this.open(place),
    });
    this.rows.element.classList.add('entries');
    this.steps = el('div', { class: 'sides', tabindex: 0, role: 'region', 'aria-label': 'Changes of the entry' });
    const notes = journal.notes.map((note) => el('p', { class: 'warning' }, note));
    fill(
      element,
      el('div', { class: 'tools' }, el('h1', {}, journal.file), el('span', { class: 'quiet' }, `${counted(this.entries.length, 'entry', 'entries')}, ${bytes(journal.size)}`)),
      notes,
      el('div', { class: 'halves' }, this.rows.element, this.steps),
    );
    this.rows.show(this.entries.length, this.entries.length - 1);
    if (this.entries.length > 0) this.open(this.entries.length - 1);
    else fill(this.steps, el('p', { class: 'none' }, 'The journal has no entries.'));
  }

  row(place) {
    const entry = this.entries[place];
    return [
      el('span', { class: 'dot', 'aria-hidden': 'true' }),
      el('span', { class: 'number' }, count(place + 1)),
      el('span', { class: 'name' }, entry.label || 'without a label'),
      el('span', { class: 'quiet' }, counted(entry.steps.length, 'change')),
    ];
  }

  open(place) {
    const entry = this.entries[place];
    fill(
      this.steps,
      el('h2', {}, entry.label || 'without a label', el('span', { class: 'quiet' }, ` entry ${count(place + 1)}`)),
      el('ol', { class: 'steps' }, entry.steps.map((step) => el('li', {}, step))),
    );
  }

  close() {
    this.rows.close();
  }
}
