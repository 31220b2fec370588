import assert from 'node:assert/strict';
import { TakenSlots } from '../../../src/runs/submitting/taken-slots.ts';

describe('TakenSlots', () => {
  const place = { hash: 'a0', ttlMs: 120_000 };
  let now: number;
  let places: TakenSlots;
  beforeEach(() => {
    now = 1_795_000_000_000;
    places = new TakenSlots({ now: () => now });
  });

  it('remembers a slot for a minute', () => {
    assert.equal(places.has(place), false);
    places.add(place, null);
    now += 59_999;
    assert.equal(places.has(place), true);
    assert.equal(places.has({ hash: 'a1' }), false);
    now += 1;
    assert.equal(places.has(place), false);
  });

  it('forgets a slot once the key of its ended run has expired', () => {
    places.add(place, now - 100_000);
    now += 19_999;
    assert.equal(places.has(place), true);
    now += 1;
    assert.equal(places.has(place), false);
  });

  it('remembers 10 000 slots', () => {
    places.add(place, null);
    for (let n = 0; n < 9999; n++) places.add({ hash: `b${n}`, ttlMs: 1000 }, null);
    assert.equal(places.has(place), true);
    places.add({ hash: 'one more', ttlMs: 1000 }, null);
    assert.equal(places.has(place), false);
  });
});
