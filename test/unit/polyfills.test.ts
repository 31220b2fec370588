import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

const POLYFILLS = new URL('../../src/base/node/polyfills.ts', import.meta.url).href;

/** Uses the globals, those of Node or the polyfills, and prints the results as JSON. */
const SCENARIO = `
  const results = [];
  const undo = (name) => ({ [Symbol.dispose]: () => void results.push(name) });
  const undoLater = (name) => ({ [Symbol.asyncDispose]: async () => void results.push(name) });
  const fails = (name) => ({ [Symbol.dispose]() { throw new Error(name); } });

  const sync = new DisposableStack();
  sync.use(undo('a'));
  sync.defer(() => results.push('b'));
  results.push(sync.adopt('c', (value) => results.push(value)));
  sync.use(null);
  sync.dispose();
  sync.dispose();
  results.push(sync.disposed, String(sync));

  const first = new AsyncDisposableStack();
  first.use(undo('d'));
  first.use(undoLater('e'));
  const second = first.move();
  await first.disposeAsync();
  results.push(first.disposed, second.disposed);
  await second[Symbol.asyncDispose]();
  try { first.use(undo('f')); } catch (error) { results.push(error.name); }

  const failing = new AsyncDisposableStack();
  failing.use(fails('g'));
  failing.use(undo('h'));
  failing.use(fails('i'));
  await failing.disposeAsync().catch((error) => results.push(error.error.message, error.suppressed.message));
  const one = new DisposableStack();
  one.use(fails('j'));
  try { one.dispose(); } catch (error) { results.push(error.message); }

  const text = 'f(a)[b]{c}^$.*+?|/\\\\';
  results.push(new RegExp(RegExp.escape(text)).test('x' + text), new RegExp(RegExp.escape('a.c')).test('abc'));
  console.log(JSON.stringify(results));
`;

function run(code: string): string {
  return execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
}

describe('polyfills for older versions of Node', () => {
  it('behave like the built-ins of Node', () => {
    const take = 'for (const name of ["DisposableStack", "AsyncDisposableStack"]) delete globalThis[name];';
    const ours = run(`${take} delete RegExp.escape; await import(${JSON.stringify(POLYFILLS)}); ${SCENARIO}`);
    assert.equal(ours, run(SCENARIO));
    assert.match(ours, /^\["c","c","b","a",true,/);
  });

  it('leave existing built-ins alone', () => {
    const names = '[DisposableStack, AsyncDisposableStack, RegExp.escape]';
    const same = run(`const own = ${names}; await import(${JSON.stringify(POLYFILLS)});
      console.log(${names}.every((value, index) => value === own[index]));`);
    assert.equal(same, 'true\n');
  });
});
