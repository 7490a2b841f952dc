// The search: a text field with a list of what it found, worked by keys as a combo box.

import { announce, debounced, el, fill } from './dom.js';
import { count, counted, shortClass } from './format.js';
import { swatch } from './value.js';

const MOST = 12;

export class Search {
  constructor(page, element) {
    this.page = page;
    this.found = [];
    this.current = -1;
    this.input = el('input', {
      id: 'find', type: 'search', role: 'combobox', placeholder: 'Find by name, id or class', autocomplete: 'off',
      spellcheck: 'false', 'aria-label': 'Find an object by name, id or class', 'aria-expanded': 'false',
      'aria-controls': 'found', 'aria-autocomplete': 'list', 'aria-keyshortcuts': '/',
      oninput: debounced(60, () => this.look()),
      onkeydown: (event) => this.pressed(event),
      onfocus: () => this.look(),
      onblur: () => this.close(),
    });
    this.list = el('ul', { id: 'found', role: 'listbox', 'aria-label': 'Found objects', hidden: true });
    fill(element, this.input, el('kbd', { 'aria-hidden': 'true' }, '/'), this.list);
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  look() {
    const text = this.input.value;
    this.looked = text;
    if (text.trim() === '') return this.close();
    const { found, total } = this.page.save.search(text, MOST);
    this.found = found;
    this.current = found.length > 0 ? 0 : -1;
    this.total = total;
    this.show();
    announce(total === 0 ? `nothing found for ${text}` : `${count(total)} found`);
  }

  show() {
    const { save } = this.page;
    const rows = this.found.map((object, place) =>
      el(
        'li',
        {
          id: `found-${place}`, role: 'option', 'aria-selected': String(place === this.current),
          onmousedown: (event) => event.preventDefault(), onclick: () => this.open(place),
        },
        swatch(save.classOf(object)),
        el('span', { class: 'name' }, save.name(object) || `#${save.id(object)}`),
        el('span', { class: 'quiet' }, `${shortClass(save.className(object))} #${save.id(object)}`),
      ),
    );
    const rest = this.total - this.found.length;
    const some = save.isSample ? `${count(save.count)} of ${counted(save.total, 'object')} are in this page` : '';
    const more = this.total === 0 ? 'Nothing has this name, id or class.' : rest > 0 ? `and ${counted(rest, 'more', 'more')}` : '';
    const note = [more, some].filter((text) => text !== '').join('; ');
    fill(this.list, rows, note ? el('li', { class: 'note', role: 'presentation' }, note) : null);
    this.list.hidden = false;
    this.input.setAttribute('aria-expanded', 'true');
    if (this.current >= 0) this.input.setAttribute('aria-activedescendant', `found-${this.current}`);
    else this.input.removeAttribute('aria-activedescendant');
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
    this.input.removeAttribute('aria-activedescendant');
  }

  open(place) {
    this.close();
    const view = this.page.state.view === 'overview' || this.page.state.view === 'bytes' ? 'graph' : this.page.state.view;
    this.page.choose(this.found[place], view);
    // The next keys are for what was found.
    document.getElementById('inspector').focus();
  }

  pressed(event) {
    // Enter right after the last letter means that letter, too.
    if (event.key === 'Enter' && this.input.value !== this.looked) this.look();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length > 0) {
      this.current = (this.current + step + this.found.length) % this.found.length;
      this.show();
    } else if (event.key === 'Enter' && this.current >= 0 && !this.list.hidden) this.open(this.current);
    else if (event.key === 'Escape' && !this.list.hidden) this.close();
    else if (event.key === 'Escape') this.input.blur();
    else return;
    event.preventDefault();
  }
}
