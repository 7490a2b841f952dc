// The chosen object: its fields, and what refers to what. It is also the text alternative of the graph.

import { el, fill } from './dom.js';
import { bytes, count, shortClass } from './format.js';
import { Rows } from './rows.js';
import { cell, link, show, swatch } from './value.js';

/** More neighbours than this get a list that draws what is seen. */
const FEW = 24;
/** Fields of a record that are shown. */
const MOST_FIELDS = 300;

export class Inspector {
  constructor(page, element) {
    this.page = page;
    this.element = element;
    this.show(-1);
  }

  show(object) {
    const isOpen = object >= 0;
    document.body.classList.toggle('with-inspector', isOpen);
    this.element.hidden = !isOpen;
    if (!isOpen) return fill(this.element);
    const { save } = this.page;
    const own = save.partsOf(object);
    const name = save.name(object);
    fill(
      this.element,
      el(
        'header',
        {},
        el('p', { class: 'kind' }, swatch(save.classOf(object)), save.className(object)),
        el('button', { type: 'button', class: 'close', 'aria-label': 'Close', title: 'Close (Escape)', onclick: () => this.page.release() }, '×'),
        el('h2', {}, name || `#${save.id(object)}`),
        el('p', { class: 'quiet' }, `${save.path(object)}, ${bytes(save.bytes(object))}`, cycleText(save, object)),
        el(
          'p',
          { class: 'actions' },
          el('a', { class: 'button', href: `#graph/near@${object}` }, 'Show in graph'),
          el('a', { class: 'button', href: `#table/${save.classOf(object)}@${object}` }, 'Show in table'),
        ),
      ),
      own.map((part) => this.part(part, own.length > 1)),
      this.neighbours('Refers to', object, (call) => save.eachOut(object, call)),
      this.neighbours('Referenced by', object, (call) => save.eachIn(object, call)),
    );
    this.element.scrollTop = 0;
  }

  part({ class: number, row }, hasOthers) {
    const { save } = this.page;
    const { columns } = save.table(number);
    const fields = columns.slice(0, MOST_FIELDS).map((column) => [
      el('dt', {}, column.name || 'value'),
      el('dd', {}, show(save, cell(save, column, row))),
    ]);
    const title = hasOthers ? shortClass(save.classes[number].name) : 'Fields';
    return el(
      'section',
      {},
      el('h3', { title: save.classes[number].name }, title),
      fields.length > 0 ? el('dl', { class: 'fields' }, fields) : el('p', { class: 'none' }, 'no fields'),
      columns.length > MOST_FIELDS ? el('p', { class: 'none' }, `The first ${count(MOST_FIELDS)} of ${count(columns.length)} fields.`) : null,
    );
  }

  neighbours(title, object, each) {
    const { save } = this.page;
    const references = [];
    each((reference, other) => references.push([reference, other]));
    const element = ([reference, other]) => [
      el('span', { class: 'key' }, save.field(reference)),
      link(save, other),
      save.isWeak(reference) ? el('span', { class: 'tag' }, 'weak') : null,
    ];
    let list;
    if (references.length === 0) list = el('p', { class: 'none' }, 'nothing');
    else if (references.length <= FEW) {
      list = el('ul', { class: 'neighbours' }, references.map((pair) => el('li', {}, element(pair))));
    } else {
      const rows = new Rows({
        label: title, height: 28, render: (place) => element(references[place]), open: (place) => this.page.choose(references[place][1]),
      });
      rows.element.classList.add('neighbours');
      list = rows.element;
      requestAnimationFrame(() => rows.show(references.length));
    }
    return el('section', {}, el('h3', {}, title, el('span', { class: 'count' }, count(references.length))), list);
  }
}

function cycleText(save, object) {
  const cycle = save.cycleOf[object];
  return cycle < 0 ? null : el('span', { class: 'tag cycle' }, `in a cycle of ${count(save.cycles[cycle].length)}`);
}
