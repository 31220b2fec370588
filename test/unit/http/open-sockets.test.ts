import assert from 'node:assert/strict';
import { OpenSockets } from '../../../src/http/limits/open-sockets.ts';

describe('open WebSockets', () => {
  it('are shared by keys: none takes all, and what closes is free again', () => {
    const sockets = new OpenSockets(8);
    const add = (key: string, count: number) => Array.from({ length: count }, () => sockets.add(key));
    const first = add('a', 4);
    assert.throws(() => sockets.add('a'), { code: 'overloaded' });
    add('b', 2);
    assert.throws(() => sockets.add('b'), { code: 'overloaded' });
    sockets.add('c');
    for (const each of first) {
      each[Symbol.dispose]();
      each[Symbol.dispose]();
    }
    add('b', 1);
    assert.throws(() => add('b', 2), { code: 'overloaded' });
  });
});
