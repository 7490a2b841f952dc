// The page: which view is shown, and which object is chosen. Both are in the address, so that Back and links work.

import { announce, el, fill, visible } from './dom.js';
import { count, counted } from './format.js';
import { readReport } from './save.js';
import { Search } from './search.js';
import { Inspector } from './inspector.js';
import { overview } from './overview.js';
import { treemap } from './treemap.js';
import { graph } from './graph.js';
import { table } from './table.js';
import { compare } from './compare.js';
import { timeline } from './timeline.js';
import { startTheme } from './theme.js';

const VIEWS = [
  { key: 'overview', name: 'Overview', make: overview, is: () => true },
  { key: 'bytes', name: 'Bytes', make: treemap, is: () => true },
  { key: 'graph', name: 'Graph', make: graph, is: () => true },
  { key: 'table', name: 'Tables', make: table, is: () => true },
  { key: 'compare', name: 'Compare', make: compare, is: (report) => report.diff !== null },
  { key: 'timeline', name: 'Timeline', make: timeline, is: (report) => report.journal !== null },
];

class Page {
  constructor(report) {
    this.report = report;
    this.save = report.saves[0];
    this.state = { view: '', argument: null, object: -1 };
    this.notice = document.getElementById('notice');
    this.current = null;
    this.inspector = new Inspector(this, document.getElementById('inspector'));
    this.search = new Search(this, document.getElementById('search'));
    this.showFile();
    this.showLinks();
    addEventListener('hashchange', () => this.follow());
    document.addEventListener('keydown', (event) => this.pressed(event));
    this.follow();
  }

  showFile() {
    const names = this.report.saves.map((save) => save.data.file).join(' and ');
    document.title = visible(`${names} – persist report`);
    const { save } = this;
    fill(
      document.getElementById('file'),
      el('strong', {}, names),
      el('span', { class: 'quiet' }, ` ${save.isSample ? `${count(save.count)} of ` : ''}${counted(save.total, 'object')}, ${counted(save.classes.length, 'class', 'classes')}`),
    );
  }

  showLinks() {
    this.links = new Map();
    for (const { key, name, is } of VIEWS) {
      if (is(this.report)) this.links.set(key, el('a', { href: `#${key}` }, name));
    }
    fill(document.getElementById('views'), ...this.links.values());
  }

  /** Shows what the address says: `#view/argument@object`. An object is its id, `17`, or `World/5` in a world. */
  follow() {
    const found = /^#(\w*)(?:\/([^@/]+))?(?:@(.*))?$/.exec(location.hash);
    const [, name = '', of, key] = found ?? [];
    const known = VIEWS.find(({ key: view, is }) => view === name && is(this.report));
    const view = known?.key ?? (this.state.view || 'overview');
    const argument = known ? of ?? null : this.state.argument;
    const object = key === undefined ? this.state.object : this.save.withKey(key);
    this.say(key, object, name, known);
    const isOther = view !== this.state.view || argument !== this.state.argument;
    const isOtherObject = object !== this.state.object;
    this.state = { view, argument, object };
    if (isOther) this.showView();
    if (isOtherObject) {
      this.inspector.show(object);
      this.current?.choose?.(object);
      if (object >= 0) announce(`chosen: ${this.save.className(object)} ${this.save.label(object)}`);
    }
    this.showPlace();
  }

  /** Says what the address asks for in vain. */
  say(key, object, name, known) {
    const { save } = this;
    let text = '';
    if (key !== undefined && object < 0) {
      const shown = decoded(key).replace(/(?=[^/]*$)/, '#');
      text = save.isSample
        ? `This page does not have the object ${shown}: it has ${count(save.count)} of ${counted(save.total, 'object')}.`
        : `The save has no object ${shown}.`;
    } else if (name !== '' && name !== 'view' && !known) {
      text = `This page has no view “${name}”.`;
    }
    this.tell(text);
  }

  tell(text) {
    this.notice.hidden = text === '';
    fill(this.notice, text);
  }

  showView() {
    const { view, argument } = this.state;
    for (const [key, link] of this.links) {
      if (key === view) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    const main = document.getElementById('view');
    this.current?.close?.();
    main.className = `view ${view}`;
    fill(main);
    this.current = VIEWS.find(({ key }) => key === view).make(this, main, argument);
  }

  /** Writes into the address what is shown, without a new step for Back. */
  showPlace() {
    const { view, argument, object } = this.state;
    const hash = this.address(view, argument, object);
    if (location.hash !== hash) history.replaceState(null, '', hash);
    for (const [key, link] of this.links) link.setAttribute('href', this.address(key, null, object));
  }

  address(view, argument, object) {
    return `#${view}${argument === null ? '' : `/${argument}`}${object < 0 ? '' : `@${this.save.key(object)}`}`;
  }

  /** Chooses an object, and shows a view if one is given. */
  choose(object, view = this.state.view, argument = view === this.state.view ? this.state.argument : null) {
    location.hash = this.address(view, argument, object);
  }

  open(view, argument = null) {
    location.hash = this.address(view, argument, this.state.object);
  }

  /** Shows the table of a class. */
  openTable(number) {
    this.open('table', encodeURIComponent(this.save.classes[number].name));
  }

  /** No object is chosen any more. */
  release() {
    this.state.object = -1;
    this.inspector.show(-1);
    this.current?.choose?.(-1);
    this.showPlace();
    document.getElementById('view').focus();
  }

  pressed(event) {
    const isTyping = event.target.matches('input, select, textarea');
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.search.focus();
    } else if (event.key === 'Escape' && !isTyping && !event.defaultPrevented && this.state.object >= 0) {
      this.release();
    }
  }
}

/** A part of an address as text. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

startTheme(document.getElementById('theme'));
const page = new Page(readReport());
announce(`${count(page.save.count)} objects`);
performance.mark('ready');
