// Runs `persist-portable`, built for a web page, under node. Such a program has no way out but its memory: what it
// shows stands there between `<<persist:` and `>>`, in any order.
import { readFileSync } from 'node:fs';

const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
    console.error('a page would have to give:', imports);
    process.exit(1);
}
const { exports } = await WebAssembly.instantiate(module);
let trap = '';
try {
    exports.main(0, 0);
} catch (error) {
    trap = String(error);
}
const memory = Buffer.from(exports.memory.buffer);
const shown = new Set();
for (let at = memory.indexOf('<<persist:'); at >= 0; at = memory.indexOf('<<persist:', at + 1)) {
    const line = memory.toString('utf8', at + 10, memory.indexOf('>>', at));
    // Other places have the mark as well: the program's own text, and pieces of memory that was freed.
    if (/^[ -;=-~\n]+$/.test(line)) shown.add(line);
}
for (const line of shown) console.log(line);
if (trap !== '' || ![...shown].some((line) => /^[1-9][0-9]* tests passed$/.test(line))) {
    console.error(trap || 'the tests did not come to their end');
    process.exit(1);
}
