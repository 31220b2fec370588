import { isObject } from '../../base/json.ts';
import { repairJson } from '../../upstream/dialects/json-repair.ts';
import { jsonIn } from '../answer/schema/structured.ts';

/** How much of an answer is read, in UTF-16 code units, and how many objects: more than are ever requested. */
const LONGEST_ANSWER = 100_000;
const MAX_OBJECTS = 1000;
/** A flat object. The end is optional so that no text is scanned twice; matches without it are no JSON and are skipped. */
const OBJECT = /\{(?:[^{}"]|"(?:[^"\\\n]|\\.)*"?)+\}?/g;

/**
 * The flat objects with the field `key` that a model was asked for. Models write them as an array, in an object or not, as
 * one object per line, between sentences, or cut off at the end; every complete one counts.
 */
export function objectsIn(answer: string, key: string): Record<string, unknown>[] {
  const text = answer.slice(0, LONGEST_ANSWER);
  const value = jsonIn(text)?.value;
  const isOne = (item: unknown): item is Record<string, unknown> => isObject(item) && key in item;
  const lists = [value, ...Object.values(isObject(value) ? value : {})].filter(Array.isArray);
  const items = lists.find((list) => list.some(isOne)) ?? text.matchAll(OBJECT).map(([object]) => wholeObject(object));
  return [...items].filter(isOne).slice(0, MAX_OBJECTS);
}

function wholeObject(text: string): unknown {
  const read = repairJson(text);
  return read?.whole ? read.value : undefined;
}
