// Elements, made so that no text of a save can become markup.

/** Characters that cannot be seen, or that reorder the text after them; not line ends and tabs. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Cs}\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu;
const NAMED = { '\n': '\n', '\t': '\t', '\r': '\\r' };

/** A text with such characters escaped, as the command prints them: `\u{202e}`. */
export function visible(text) {
  return text.replace(UNSEEN, (found) => NAMED[found] ?? `\\u{${found.codePointAt(0).toString(16)}}`);
}

/** A text on one line: line ends and tabs are escaped, too. */
export function oneLine(text) {
  return visible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

/** A name with places where a line may end: after its dots, not within its words. */
export function breakable(name) {
  return (oneLine(name).match(/[^.:/]+[.:/]*|^[.:/]+/g) ?? []).flatMap((part, place) => (place > 0 ? [el('wbr'), part] : [part]));
}

/**
 * Makes an element. Attributes whose names begin with `on` are listeners. Strings among the children become text.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? '' : visible(String(value)));
  }
  return fill(element, children);
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...shown.map((child) => (child instanceof Node ? child : visible(String(child)))));
  return element;
}

/** Says something to screen readers. */
export function announce(text) {
  document.getElementById('live').textContent = visible(text);
}

/** Calls a function once the calls stop for a while. */
export function debounced(milliseconds, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

/** A button that copies a text. */
export function copyButton(text, what) {
  const button = el('button', { type: 'button', class: 'copy', title: `Copy ${what}: ${text}`, 'aria-label': `Copy ${what}`, 'data-copy': text });
  button.addEventListener('click', async () => {
    const isCopied = await copy(text);
    button.classList.toggle('copied', isCopied);
    announce(isCopied ? `copied ${text}` : 'the browser does not let pages copy');
    setTimeout(() => button.classList.remove('copied'), 1200);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page from disk may have no access to the clipboard.
    const field = el('textarea', { class: 'unseen', 'aria-hidden': 'true' });
    field.value = text;
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    return isCopied;
  }
}

/** Waits until the browser has handled what the user did meanwhile. */
export function breath() {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(0);
  });
}
