// The chosen object: its fields, and what refers to what. It is also the text alternative of the graph.

import { breakable, copyButton, el, fill } from './dom.js';
import { bytes, count, counted, shortClass } from './format.js';
import { componentPath, fieldPath } from './path.js';
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
    const path = save.pathTo(object);
    fill(
      this.element,
      el(
        'header',
        {},
        el('p', { class: 'kind' }, swatch(save.classOf(object)), breakable(save.className(object))),
        el('button', { type: 'button', class: 'close', 'aria-label': 'Close', title: 'Close (Escape)', onclick: () => this.page.release() }, '×'),
        el('h2', {}, name || `#${save.id(object)}`),
        el('p', { class: 'quiet' }, `${path ?? save.path(object)}, ${bytes(save.bytes(object))}`, path === null ? null : copyButton(path, 'the path of the object'), cycleText(save, object)),
        el(
          'p',
          { class: 'actions' },
          el('a', { class: 'button', href: `#graph/near@${save.key(object)}` }, 'Show in graph'),
          el('a', { class: 'button', href: `#table/${encodeURIComponent(save.className(object))}@${save.key(object)}` }, 'Show in table'),
        ),
      ),
      own.map((part) => this.part(part, own.length > 1, this.partPath(object, part))),
      this.neighbours('Refers to', save.outCount(object), (call) => save.eachOut(object, call)),
      this.neighbours('Referenced by', save.inCount(object), (call) => save.eachIn(object, call)),
    );
    this.element.scrollTop = 0;
  }

  /** The path of a record of an object: the object itself, or one of its components. */
  partPath(object, part) {
    const { save } = this.page;
    const name = save.classes[part.class].name;
    const isOwn = ['persist.Object', 'persist.World'].includes(name) || (save.worldOf(object) < 0 && save.className(object) !== 'persist.World');
    return isOwn ? save.pathTo(object) : componentPath(save.pathTo(object), name);
  }

  part({ class: number, row }, hasOthers, path) {
    const { save } = this.page;
    const { columns } = save.table(number);
    const fields = columns.slice(0, MOST_FIELDS).map((column) => [
      el('dt', {}, column.name || 'value'),
      this.field(save, cell(save, column, row), fieldPath(path, column.name)),
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

  field(save, value, path) {
    return el('dd', {}, show(save, value, path), path === null ? null : copyButton(path, 'the path'));
  }

  neighbours(title, total, each) {
    const { save } = this.page;
    const references = [];
    each((reference, other) => references.push([reference, other]));
    const element = ([reference, other]) => [
      el('span', { class: 'key', title: save.field(reference) }, breakable(save.field(reference))),
      link(save, other),
      save.isWeak(reference) ? el('span', { class: 'tag' }, 'weak') : null,
    ];
    let list;
    if (total === 0) list = el('p', { class: 'none' }, 'nothing');
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
    const rest = total - references.length;
    const more = rest > 0 ? el('p', { class: 'none' }, `${counted(rest, 'reference')} ${rest === 1 ? 'leads' : 'lead'} to or from objects that this page does not have.`) : null;
    return el('section', {}, el('h3', {}, title, el('span', { class: 'count' }, count(total))), list, more);
  }
}

function cycleText(save, object) {
  const cycle = save.cycleOf[object];
  return cycle < 0 ? null : el('span', { class: 'tag cycle' }, `in a cycle of ${count(save.data.cycles[cycle].size)}`);
}
