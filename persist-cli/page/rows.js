// A list that makes elements only for the rows that are seen.

import { el } from './dom.js';
import { count, counted } from './format.js';

/** No browser draws an element that is much taller. */
const MOST_PIXELS = 8e6;
/** Rows that are printed: some 400 pages. */
const MOST_PRINTED = 20000;
/** Rows beyond the edges, so that scrolling by a line shows no gap. */
const MARGIN = 6;

let lists = 0;

/**
 * A list of rows, used with keys: arrows, Page Up and Down, Home, End, and Enter to open.
 *
 * `render(place)` returns the elements of a row, `open(place)` is called on Enter and on a click. With `columns` it is
 * a grid for screen readers, otherwise a list box.
 */
export class Rows {
  constructor({ label, height = 32, render, open, columns = 0, head = null, key = null }) {
    Object.assign(this, { height, render, open, columns, count: 0, current: -1, key });
    this.prefix = `rows${(lists += 1)}`;
    this.spacer = el('div', { class: 'spacer', role: 'presentation' });
    this.window = el('div', { class: 'window', role: columns ? 'rowgroup' : 'presentation' });
    const role = columns ? 'grid' : 'listbox';
    this.element = el(
      'div',
      {
        class: 'rows', role, tabindex: 0, 'aria-label': label, 'aria-colcount': columns || null,
        onscroll: () => this.ask(), onkeydown: (event) => this.pressed(event), onclick: (event) => this.clicked(event),
      },
      head ? el('div', { class: 'head', role: 'rowgroup' }, head) : null,
      el('div', { class: 'scroll', role: 'presentation' }, this.spacer, this.window),
    );
    this.head = head;
    this.isPrinting = false;
    this.printing = () => this.print(true);
    this.printed = () => this.print(false);
    addEventListener('beforeprint', this.printing);
    addEventListener('afterprint', this.printed);
    this.observer = new ResizeObserver(() => this.ask());
    this.observer.observe(this.element);
  }

  /** Says how many rows there are, and draws them anew. */
  show(count, current = -1) {
    this.count = count;
    this.current = Math.min(current, count - 1);
    this.spacer.style.height = `${Math.min(count * this.height, MOST_PIXELS)}px`;
    if (this.columns) this.element.setAttribute('aria-rowcount', count + 1);
    this.element.scrollTop = 0;
    if (this.current >= 0) this.reveal();
    this.draw();
  }

  close() {
    this.observer.disconnect();
    removeEventListener('beforeprint', this.printing);
    removeEventListener('afterprint', this.printed);
  }

  ask() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      this.draw();
    });
  }

  room() {
    return this.element.clientHeight - (this.head?.offsetHeight ?? 0);
  }

  /** The first row that is seen, with the part of it that is not. Of very long lists a pixel stands for many rows. */
  top() {
    const all = this.count * this.height;
    if (all <= MOST_PIXELS) return this.element.scrollTop / this.height;
    const part = this.element.scrollTop / Math.max(1, MOST_PIXELS - this.room());
    return Math.min(1, part) * (this.count - this.room() / this.height);
  }

  print(isPrinting) {
    this.isPrinting = isPrinting;
    this.draw();
  }

  /** Draws the rows that are seen; while it is printed, all of them. */
  draw() {
    const { isPrinting } = this;
    const top = isPrinting ? 0 : this.top();
    const first = Math.max(0, Math.floor(top) - MARGIN);
    const last = isPrinting ? Math.min(this.count, MOST_PRINTED) : Math.min(this.count, Math.ceil(top + this.room() / this.height) + MARGIN);
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(this.row(place));
    if (isPrinting && last < this.count) rows.push(el('p', { class: 'none' }, `The first ${count(last)} of ${counted(this.count, 'row')}.`));
    this.window.replaceChildren(...rows);
    const offset = this.element.scrollTop + (first - top) * this.height;
    this.window.style.transform = `translateY(${Math.round(offset)}px)`;
    const isDrawn = this.current >= first && this.current < last;
    if (isDrawn) this.element.setAttribute('aria-activedescendant', `${this.prefix}-${this.current}`);
    else this.element.removeAttribute('aria-activedescendant');
  }

  row(place) {
    const isCurrent = place === this.current;
    const attributes = this.columns
      ? { role: 'row', 'aria-rowindex': place + 2 }
      : { role: 'option', 'aria-posinset': place + 1, 'aria-setsize': this.count };
    const row = el(
      'div',
      {
        ...attributes, id: `${this.prefix}-${place}`, 'data-place': place, 'aria-selected': String(isCurrent),
        class: isCurrent ? 'row current' : 'row', style: { height: `${this.height}px` },
      },
      this.render(place),
    );
    // Tab passes the list as one stop; arrows and Enter are for its rows.
    for (const link of row.querySelectorAll('a')) link.tabIndex = -1;
    return row;
  }

  /** Moves to a row, and scrolls to it. */
  move(place) {
    if (this.count === 0) return;
    this.current = Math.max(0, Math.min(this.count - 1, place));
    this.reveal();
    this.draw();
  }

  reveal() {
    const top = this.top();
    const seen = Math.max(1, Math.floor(this.room() / this.height));
    let wanted = null;
    if (this.current < top) wanted = this.current;
    else if (this.current + 1 > top + seen) wanted = this.current + 1 - seen;
    if (wanted === null) return;
    const all = this.count * this.height;
    this.element.scrollTop =
      all <= MOST_PIXELS
        ? wanted * this.height
        : (wanted / (this.count - this.room() / this.height)) * (MOST_PIXELS - this.room());
  }

  pressed(event) {
    if (event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.room() / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    if (event.key in steps) this.move(this.current + steps[event.key]);
    else if (event.key === 'Enter' && this.current >= 0) this.open(this.current);
    else if (!this.key?.(event)) return;
    event.preventDefault();
  }

  clicked(event) {
    const row = event.target.closest('[data-place]');
    if (!row || event.target.closest('a, button')) return;
    this.current = Number(row.dataset.place);
    this.draw();
    this.open(this.current);
  }
}
