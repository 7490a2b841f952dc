// Rows of a table as a CSV file, as RFC 4180 describes them.

import { cell, textOf } from './value.js';

/** Characters of a value; the page has no longer ones. */
const MOST = 100000;

/** The text of a file: the path of each object, and the fields of a class. */
export function csvOf(save, kind, columns, rows) {
  const head = ['object', ...columns.map((column) => column.name || 'value')];
  const lines = rows.map((row) => [save.path(kind.objects[row]), ...columns.map((column) => field(save, cell(save, column, row)))]);
  return [head, ...lines].map((line) => `${line.map(quoted).join(',')}\r\n`).join('');
}

/** None is an empty field. A text that a spreadsheet would run as a formula gets an apostrophe before it. */
function field(save, value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : textOf(save, value, MOST);
  const isNumber = typeof value === 'object' && 'd' in value;
  return !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Gives a file to the reader. */
export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  [link.href, link.download] = [address, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
