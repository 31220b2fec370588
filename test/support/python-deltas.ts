import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';

type Delta = Record<string, unknown>;

/**
 * Adds the delta of a chat chunk to the sum of earlier ones like the official Python SDK's stream helper: texts are
 * joined, objects merged, and entries of a list of objects are merged by their `index`.
 * @throws AssertionError if that helper would throw.
 */
export function addDelta(sum: Delta, delta: Delta): Delta {
  for (const [name, value] of Object.entries(delta)) {
    const before = sum[name];
    if (before === undefined || before === null || name === 'index' || name === 'type') sum[name] = value;
    else if (typeof before === 'string' && typeof value === 'string') sum[name] = before + value;
    else if (typeof before === 'number' && typeof value === 'number') sum[name] = before + value;
    else if (isObject(before) && isObject(value)) sum[name] = addDelta(before, value);
    else if (Array.isArray(before) && Array.isArray(value)) sum[name] = joinEntries(before, value);
  }
  return sum;
}

function joinEntries(before: readonly unknown[], added: readonly unknown[]): unknown[] {
  if (before.every((entry) => typeof entry === 'string' || typeof entry === 'number')) return [...before, ...added];
  const entries = [...before];
  for (const entry of added) {
    assert.ok(isObject(entry), 'an entry of a list is an object');
    const { index } = entry;
    assert.ok(typeof index === 'number', `an entry of a list has an index: ${JSON.stringify(entry)}`);
    const placed = entries[index];
    if (isObject(placed)) entries[index] = addDelta(placed, entry);
    else entries.splice(index, 0, entry);
  }
  return entries;
}
