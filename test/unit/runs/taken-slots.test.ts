import assert from 'node:assert/strict';
import { TakenSlots } from '../../../src/runs/submitting/taken-slots.ts';

describe('places of submissions that are taken', () => {
  const place = { hash: 'a0', ttlMs: 120_000 };
  let now: number;
  let places: TakenSlots;
  beforeEach(() => {
    now = 1_795_000_000_000;
    places = new TakenSlots({ now: () => now });
  });

  it('are believed to be for a minute', () => {
    assert.equal(places.has(place), false);
    places.add(place, null);
    now += 59_999;
    assert.equal(places.has(place), true);
    assert.equal(places.has({ hash: 'a1' }), false);
    now += 1;
    assert.equal(places.has(place), false);
  });

  it('are free as soon as the memory of an ended run is over', () => {
    places.add(place, now - 100_000);
    now += 19_999;
    assert.equal(places.has(place), true);
    now += 1;
    assert.equal(places.has(place), false);
  });

  it('are as many as are worth it', () => {
    places.add(place, null);
    for (let n = 0; n < 9999; n++) places.add({ hash: `b${n}`, ttlMs: 1000 }, null);
    assert.equal(places.has(place), true);
    places.add({ hash: 'one more', ttlMs: 1000 }, null);
    assert.equal(places.has(place), false);
  });
});
