// Conditions as the paths of the command have them: `health < 5 && name == "sword"`.

const OPERATORS = ['==', '!=', '<=', '>=', '<', '>', '~'];
const CLOSING = { '[': ']', '(': ')', '{': '}' };

/** Whether a text compares something, rather than being a text to look for. */
export function isCondition(text) {
  return findBare(text, ['==', '!=', '<', '>', '~']) !== null;
}

/**
 * Reads a condition, and returns a function of a value: whether it holds. A comparison that begins with its operator is
 * one of the field `name`. Throws an error with a sentence if the text is no condition.
 */
export function readCondition(text, name = null) {
  const any = splitBare(text, '||').map((all) => splitBare(all, '&&').map((one) => readComparison(one.trim(), name)));
  const holds = (save, record) => any.some((all) => all.every((comparison) => holdsFor(save, record, comparison)));
  holds.fields = any.flat().flatMap(({ steps }) => (steps[0]?.field === undefined ? [] : [steps[0].field]));
  return holds;
}

function readComparison(text, name) {
  const found = findBare(text, OPERATORS);
  if (found === null) throw new Error(`“${text}” compares nothing; write as health < 5`);
  const [at, operator] = found;
  const left = text.slice(0, at).trim();
  if (left === '' && name === null) throw new Error(`nothing is before ${operator}; write a field`);
  const steps = left === '' ? [{ field: name }] : readSteps(left);
  return { steps, operator, right: readValue(text.slice(at + operator.length).trim(), operator) };
}

/** The steps of a path from a value: fields, elements, keys and variants. */
function readSteps(text) {
  const steps = [];
  let rest = text === '.' ? '' : /^[.[:]/.test(text) ? text : `.${text}`;
  while (rest !== '') {
    const found = /^(?:\[\*\]|\.\*)/.exec(rest) ?? /^::([^.[:]+)/.exec(rest) ?? /^\.(?:`((?:[^`\\]|\\.)*)`|([^.[:`]+))/.exec(rest) ?? /^\[([^\]]+)\]/.exec(rest);
    if (found === null) throw new Error(`“${rest}” is no field, element or key`);
    if (rest.startsWith('::')) steps.push({ variant: found[1].trim() });
    else if (found[0] === '[*]' || found[0] === '.*') steps.push({ all: true });
    else if (rest.startsWith('[')) steps.push({ key: readValue(found[1].trim(), '[') });
    else steps.push({ field: found[1] === undefined ? found[2].trim() : unescaped(found[1]) });
    rest = rest.slice(found[0].length);
  }
  return steps;
}

/** A number, a text in quotes or a word, `true`, `false`, or `none`. */
function readValue(text, before) {
  const number = /^(-?\d[\d_]*)(?:[iu](?:8|16|32|64|128))?$/.exec(text);
  if (number) return BigInt(number[1].replaceAll('_', ''));
  const float = /^(-?(?:\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?|inf|NaN))(?:f32|f64)?$/.exec(text);
  if (float) return numberOf(float[1].replaceAll('_', ''));
  const quoted = /^(["'])((?:[^\\]|\\.)*)\1$/su.exec(text);
  if (quoted) return unescaped(quoted[2]);
  if (text === 'none') return null;
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^[\p{L}\p{N}_-]+$/u.test(text)) return text;
  throw new Error(`“${text}” after ${before} is no number, text in quotes, true, false or none`);
}

function unescaped(text) {
  const named = { n: '\n', r: '\r', t: '\t', 0: '\0' };
  return text.replace(/\\(?:u\{([\da-fA-F]+)\}|(.))/gsu, (_, code, other) => (code ? String.fromCodePoint(parseInt(code, 16)) : named[other] ?? other));
}

function holdsFor(save, record, { steps, operator, right }) {
  let found = [record];
  for (const step of steps) found = found.flatMap((value) => take(save, value, step));
  return found.some((left) => compare(save, left, operator, right));
}

/** What a step leads to from a value. References are followed, if the page has their objects. */
function take(save, value, step) {
  if (typeof value === 'function') return step.field === undefined ? [] : value(step.field);
  if (value === null || typeof value !== 'object') return [];
  if ('r' in value) return value.r < 0 ? [] : take(save, (field) => save.fieldOf(value.r, field), step);
  const list = Array.isArray(value) ? value : value.l;
  const fields = 's' in value ? value.f ?? [] : [];
  const entries = value.m ?? [];
  if (step.all) return [...(list ?? []), ...fields, ...entries.map(([, part]) => part)];
  if (step.variant !== undefined) return 's' in value && save.shapes[value.s].variant === step.variant ? [value] : [];
  if (step.field !== undefined) {
    const at = 's' in value ? save.shapes[value.s].fields.indexOf(step.field) : Array.isArray(value) && /^\d+$/.test(step.field) ? Number(step.field) : -1;
    const part = 's' in value ? fields[at] : list?.[at];
    return at < 0 || part === undefined ? [] : [part];
  }
  if (list) {
    const length = value.n ?? list.length;
    const at = typeof step.key === 'bigint' ? Number(step.key < 0n ? BigInt(length) + step.key : step.key) : -1;
    return at < 0 || at >= list.length ? [] : [list[at]];
  }
  return entries.filter(([key]) => isEqual(save, key, step.key)).map(([, part]) => part);
}

function compare(save, left, operator, right) {
  if (operator === '==') return isEqual(save, left, right);
  if (operator === '!=') return !isEqual(save, left, right);
  if (operator === '~') {
    const text = comparable(left);
    return typeof text === 'string' && typeof right === 'string' && text.includes(right);
  }
  const sign = order(comparable(left), right);
  return sign !== null && { '<': sign < 0, '<=': sign <= 0, '>': sign > 0, '>=': sign >= 0 }[operator];
}

function isEqual(save, left, right) {
  if (left === null || right === null || (typeof left === 'object' && left.r === -1)) return right === null && (left === null || left.r === -1);
  if (typeof left === 'object' && 's' in left) return typeof right === 'string' && save.shapes[left.s].variant === right;
  if (typeof left === 'boolean' || typeof right === 'boolean') return String(left) === String(right);
  return order(comparable(left), right) === 0;
}

/** A number or a text; null if a value is neither. */
function comparable(value) {
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (value === null || typeof value !== 'object') return null;
  if ('d' in value) return numberOf(value.d);
  return 't' in value ? value.t : null;
}

/** The order of two numbers or two texts; null for others, and for what is no number. */
function order(left, right) {
  const isText = typeof left === 'string';
  if (left === null || right === null || typeof right === 'boolean' || isText !== (typeof right === 'string')) return null;
  if (isText) return byPoint(left, right);
  // Integers of any size and floats are compared exactly.
  if (left < right) return -1;
  if (left > right) return 1;
  // eslint-disable-next-line eqeqeq -- of an integer and a float
  return left == right ? 0 : null;
}

/** By code points, as Rust does. */
function byPoint(left, right) {
  const [one, other] = [[...left], [...right]];
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const difference = one[at].codePointAt(0) - other[at].codePointAt(0);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

function numberOf(text) {
  if (/^-?\d+$/.test(text)) return text === '-0' ? -0 : BigInt(text);
  return { inf: Infinity, '-inf': -Infinity }[text] ?? Number(text);
}

/** The first place where one of some texts stands in no quotes and no brackets, and that text. */
function findBare(text, wanted) {
  let quote = null;
  const open = [];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    const found = quote === null && open.length === 0 ? wanted.find((one) => text.startsWith(one, at)) : undefined;
    if (found !== undefined) return [at, found];
    if (letter === '\\') at += 1;
    else if (quote !== null) quote = letter === quote ? null : quote;
    else if ('"`\''.includes(letter)) quote = letter;
    else if (letter in CLOSING) open.push(CLOSING[letter]);
    else if (letter === open.at(-1)) open.pop();
  }
  return null;
}

function splitBare(text, separator) {
  const found = findBare(text, [separator]);
  if (found === null) return [text];
  return [text.slice(0, found[0]), ...splitBare(text.slice(found[0] + separator.length), separator)];
}
