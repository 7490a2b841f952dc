// Numbers as people read them.

const COUNT = new Intl.NumberFormat('en');
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A count with separators. */
export function count(number) {
  return COUNT.format(number);
}

/** A count with its noun: `1 object`, `2 objects`. */
export function counted(number, noun, nouns = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : nouns}`;
}

/** A number of bytes in the largest unit that leaves at least 1. */
export function bytes(number) {
  let unit = 0;
  while (number >= 1024 && unit + 1 < UNITS.length) {
    number /= 1024;
    unit += 1;
  }
  return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${UNITS[unit]}`;
}

/** A part of a whole in percent. */
export function percent(part, whole) {
  const value = whole ? (100 * part) / whole : 0;
  if (value > 0 && value < 0.1) return '< 0.1 %';
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

/** The name of a class without its modules: `quest.Hero` is `Hero`. Parameters stay as they are. */
export function shortClass(name) {
  const end = name.search(/[<(\[ ]/);
  const head = end < 0 ? name : name.slice(0, end);
  const short = head.slice(Math.max(head.lastIndexOf('.'), head.lastIndexOf(':')) + 1);
  return (short || head) + (end < 0 ? '' : name.slice(end));
}
