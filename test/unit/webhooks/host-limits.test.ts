import assert from 'node:assert/strict';
import { newRunId } from '../../../src/base/ids.ts';
import { HostLimits } from '../../../src/webhooks/host-limits.ts';

const waiting = (user = 'ann') => ({ run: newRunId(), user, until: Number.POSITIVE_INFINITY });

describe('HostLimits', () => {
  it('starts 32 runs of a host, queues 256 more, and keeps capacity for other hosts', () => {
    const hosts = new HostLimits();
    const results = Array.from({ length: 400 }, () => hosts.acquire(['dead'], waiting()));
    const places = results.filter((place) => typeof place === 'object');
    assert.equal(places.length, 32);
    assert.deepEqual(
      [results.filter((place) => place === 'waits').length, results.filter((place) => place === 'soon').length],
      [256, 112],
    );
    assert.equal(typeof hosts.acquire(['alive'], waiting()), 'object');
    assert.equal(hosts.isBusy, false, 'nobody waits for a host that has not answered yet');
    hosts.noteAnswer('dead');
    assert.equal(hosts.isBusy, true);
    assert.deepEqual(hosts.next(), []);
    for (const place of places.slice(0, 3)) place[Symbol.dispose]();
    assert.equal(hosts.next().length, 3);
  });

  it('gives the places of a host to users in turn, however many runs one of them has', () => {
    const hosts = new HostLimits();
    const places = Array.from({ length: 32 + 250 }, () => hosts.acquire(['one'], waiting()));
    for (const user of ['bob', 'eve', 'bob']) assert.equal(hosts.acquire(['one'], waiting(user)), 'waits');
    const next: string[] = [];
    for (const place of places.slice(0, 9)) {
      if (typeof place === 'object') place[Symbol.dispose]();
      const [{ user } = { user: '' }] = hosts.next();
      next.push(user);
      hosts.acquire(['one'], waiting(user));
    }
    assert.deepEqual(next, ['ann', 'bob', 'eve', 'ann', 'bob', 'ann', 'ann', 'ann', 'ann']);
  });

  it('queues at most 4096 runs for all hosts together', () => {
    const hosts = new HostLimits();
    let queued = 0;
    for (let n = 0; n < 20; n++) {
      for (let run = 0; run < 300; run++) if (hosts.acquire([`host ${n}`], waiting()) === 'waits') queued++;
    }
    assert.equal(queued, 4096);
  });

  it('drops a queued run that may no longer wait', () => {
    const hosts = new HostLimits();
    const places = Array.from({ length: 32 }, () => hosts.acquire(['one'], waiting()));
    assert.equal(hosts.acquire(['one'], { ...waiting(), until: 0 }), 'waits');
    for (const place of places) if (typeof place === 'object') place[Symbol.dispose]();
    assert.deepEqual(hosts.next(), []);
    assert.equal(hosts.isBusy, false);
  });
});
