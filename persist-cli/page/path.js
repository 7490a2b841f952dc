// Paths that `persist get` takes.

/** A field after a path. The value of an object that has no fields is the object itself. */
export function fieldPath(path, name) {
  if (path === null || name === '') return path;
  return `${path}.${plainName(name, /^[\p{L}\p{N}_]+$/u)}`;
}

/** A component of an object, or a resource of a world. */
export function componentPath(path, name) {
  return path === null ? null : `${path}:${plainName(name, /^[\p{L}\p{N}_]+$/u)}`;
}

/** An element of a list. */
export function elementPath(path, place) {
  return path === null ? null : `${path}[${place}]`;
}

/** The value of a key; null if the key cannot be written as text. */
export function entryPath(save, path, key) {
  const text = keyText(save, key);
  return path === null || text === null ? null : `${path}[${text}]`;
}

function keyText(save, key) {
  if (typeof key === 'string') return quoted(key, '"');
  if (typeof key === 'boolean' || Number.isSafeInteger(key)) return String(key);
  if (typeof key !== 'object' || key === null) return null;
  if ('d' in key) return /^-?\d+$/.test(key.d) ? key.d : null;
  return 's' in key && !key.f ? quoted(save.shapes[key.s].variant ?? '', '"') : null;
}

/** A name as it is, or in backticks. */
function plainName(name, plain) {
  return plain.test(name) ? name : quoted(name, '`');
}

function quoted(text, quote) {
  const escaped = text.replace(/[\\"`\p{C}\p{Z}]/gu, (found) => {
    if (found === ' ') return found;
    if (found === '\\' || found === quote) return `\\${found}`;
    return found === '"' || found === '`' ? found : `\\u{${found.codePointAt(0).toString(16)}}`;
  });
  return quote + escaped + quote;
}
