// What a journal says, in its order, and the steps of the chosen entry.

import { el, fill, oneLine } from './dom.js';
import { bytes, count, counted } from './format.js';
import { Rows } from './rows.js';
import { link } from './value.js';

/** Steps that are drawn; an entry may have a million. */
const MOST_STEPS = 500;

export function timeline(page, element) {
  return new Timeline(page, element);
}

class Timeline {
  constructor(page, element) {
    const { journal } = page.report;
    this.save = page.save;
    this.entries = journal.entries;
    this.rows = new Rows({
      label: 'Entries of the journal', height: 44, render: (place) => this.row(place), open: (place) => this.open(place),
    });
    this.rows.element.classList.add('entries');
    this.steps = el('div', { class: 'sides', tabindex: 0, role: 'region', 'aria-label': 'Steps of the entry' });
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

  /** The label of an entry, or what its first step does. */
  label({ label, steps }) {
    if (label) return oneLine(label);
    const [{ change, name, object, path } = {}] = steps;
    if (change === undefined) return '';
    return oneLine([change, name ?? (object === null ? null : `#${object}`), path].filter((part) => part !== null && part !== undefined).join(' '));
  }

  /** What was undone or redone, if that is what an entry says. */
  subject({ of }) {
    return of === undefined ? '' : this.label(this.entries[of]);
  }

  row(place) {
    const entry = this.entries[place];
    const { what } = entry;
    const subject = this.subject(entry);
    const name = subject ? `${what}: ${subject}` : this.label(entry) || what;
    return [
      this.dot(what),
      el('span', { class: 'number' }, count(place + 1)),
      el('span', { class: 'entry' }, el('span', { class: 'name', title: name }, name), subject || name === what ? null : el('span', { class: 'quiet' }, what)),
    ];
  }

  dot(what) {
    return el('span', { class: `dot ${what.startsWith('undone') || what === 'rollback' ? 'hollow' : ''}`, 'aria-hidden': 'true' });
  }

  open(place) {
    const { what, label, steps, of } = this.entries[place];
    const rows = steps.slice(0, MOST_STEPS).map((step) => this.step(step));
    const head = ['step', 'object', 'field', 'before', 'after'].map((name) => el('th', { scope: 'col' }, name));
    fill(
      this.steps,
      el('h2', {}, this.subject(this.entries[place]) ? `${what}: ${this.subject(this.entries[place])}` : oneLine(label) || what, el('span', { class: 'quiet' }, ` ${count(place + 1)} of ${count(this.entries.length)}, ${what}`)),
      rows.length > 0
        ? el('div', { class: 'scroller' }, el('table', { class: 'plain steps' }, el('thead', {}, el('tr', {}, head)), el('tbody', {}, rows)))
        : el('p', { class: 'none' }, 'It has no steps of its own.'),
      of === undefined
        ? null
        : el('p', {}, `It is about entry ${count(of + 1)}, “${this.label(this.entries[of])}”. `, el('button', { type: 'button', class: 'quiet', onclick: () => this.go(of) }, 'show it')),
      steps.length > MOST_STEPS ? el('p', { class: 'none' }, `The first ${count(MOST_STEPS)} of ${count(steps.length)} steps.`) : null,
    );
  }

  go(place) {
    this.rows.move(place);
    this.open(place);
  }

  step({ level, change, object, name, path, old, new: now }) {
    const style = { paddingLeft: `${2 + 14 * Math.min(level, 8)}px` };
    const isCommand = [object, path, old, now].every((part) => part === null);
    if (isCommand) return el('tr', {}, el('th', { scope: 'row', colspan: 5, style }, change));
    const known = object === null ? -1 : this.save.member(object);
    let shown = '';
    if (known >= 0) shown = link(this.save, known);
    else if (object !== null) shown = `${name ?? ''} #${object}`;
    return el(
      'tr',
      {},
      el('th', { scope: 'row', style }, change),
      el('td', {}, shown),
      el('td', {}, path ?? ''),
      el('td', { class: old === null ? null : 'old' }, old ?? ''),
      el('td', { class: now === null ? null : 'new' }, now ?? ''),
    );
  }

  close() {
    this.rows.close();
  }
}
