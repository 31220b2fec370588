import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

const POLYFILLS = new URL('../../src/polyfills.ts', import.meta.url).href;

/** What a runtime does, told as JSON; in it the globals are those of the runtime, or ours. */
const SCENARIO = `
  const told = [];
  const undo = (name) => ({ [Symbol.dispose]: () => void told.push(name) });
  const undoLater = (name) => ({ [Symbol.asyncDispose]: async () => void told.push(name) });
  const fails = (name) => ({ [Symbol.dispose]() { throw new Error(name); } });

  const sync = new DisposableStack();
  sync.use(undo('a'));
  sync.defer(() => told.push('b'));
  told.push(sync.adopt('c', (value) => told.push(value)));
  sync.use(null);
  sync.dispose();
  sync.dispose();
  told.push(sync.disposed, String(sync));

  const first = new AsyncDisposableStack();
  first.use(undo('d'));
  first.use(undoLater('e'));
  const second = first.move();
  await first.disposeAsync();
  told.push(first.disposed, second.disposed);
  await second[Symbol.asyncDispose]();
  try { first.use(undo('f')); } catch (error) { told.push(error.name); }

  const failing = new AsyncDisposableStack();
  failing.use(fails('g'));
  failing.use(undo('h'));
  failing.use(fails('i'));
  await failing.disposeAsync().catch((error) => told.push(error.error.message, error.suppressed.message));
  const one = new DisposableStack();
  one.use(fails('j'));
  try { one.dispose(); } catch (error) { told.push(error.message); }

  const text = 'f(a)[b]{c}^$.*+?|/\\\\';
  told.push(new RegExp(RegExp.escape(text)).test('x' + text), new RegExp(RegExp.escape('a.c')).test('abc'));
  console.log(JSON.stringify(told));
`;

function run(code: string): string {
  return execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
}

describe('what older versions of Node lack', () => {
  it('does what Node does', () => {
    const take = 'for (const name of ["DisposableStack", "AsyncDisposableStack"]) delete globalThis[name];';
    const ours = run(`${take} delete RegExp.escape; await import(${JSON.stringify(POLYFILLS)}); ${SCENARIO}`);
    assert.equal(ours, run(SCENARIO));
    assert.match(ours, /^\["c","c","b","a",true,/);
  });

  it('leaves alone what is there', () => {
    const names = '[DisposableStack, AsyncDisposableStack, RegExp.escape]';
    const same = run(`const own = ${names}; await import(${JSON.stringify(POLYFILLS)});
      console.log(${names}.every((value, index) => value === own[index]));`);
    assert.equal(same, 'true\n');
  });
});
