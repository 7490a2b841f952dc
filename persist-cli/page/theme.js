// Light and dark: as the system has it, until the reader chooses.

import { el, fill } from './dom.js';

const KEY = 'persist-theme';

/** Makes a button the switch. */
export function startTheme(button) {
  const system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = remembered();
  const isDark = () => (chosen ? chosen === 'dark' : system.matches);
  const show = () => {
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
    button.setAttribute('aria-label', isDark() ? 'Use light colours' : 'Use dark colours');
    button.title = button.getAttribute('aria-label');
    fill(button, el('span', { class: 'sun', 'aria-hidden': 'true' }));
    dispatchEvent(new Event('themechange'));
  };
  button.addEventListener('click', () => {
    chosen = isDark() ? 'light' : 'dark';
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // A page from disk may have no storage; the choice then lasts as long as the page.
    }
    show();
  });
  system.addEventListener('change', show);
  show();
}

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** The value of a colour of the style, for canvases. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
