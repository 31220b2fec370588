import { z } from 'zod';
import { isObject } from '../base/json.ts';
import { configSchema } from './schema.ts';

/** The keys that the configuration knows at a path, read off the schema. Several kinds in one place are joined. */
export function knownKeys(path: readonly PropertyKey[]): string[] {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });
  let nodes: unknown[] = [schema];
  for (const part of path) nodes = nodes.flatMap(options).flatMap((node) => childrenAt(node, part));
  const keys = nodes.flatMap(options).flatMap((node) => {
    const properties = isObject(node) ? node.properties : undefined;
    return isObject(properties) ? Object.keys(properties) : [];
  });
  return [...new Set(keys)];
}

function options(node: unknown): unknown[] {
  if (!isObject(node)) return [];
  const alternatives = node.anyOf ?? node.oneOf;
  return Array.isArray(alternatives) ? alternatives.flatMap(options) : [node];
}

function childrenAt(node: unknown, part: PropertyKey): unknown[] {
  if (!isObject(node)) return [];
  if (typeof part === 'number') return [node.items];
  const property = isObject(node.properties) ? node.properties[String(part)] : undefined;
  return [property ?? node.additionalProperties];
}

/** The candidate nearest to a word that was misspelt, if any is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(fold(word), fold(candidate)) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** `baseUrl`, `base-url` and `base_url` are the same word. */
function fold(word: string): string {
  return word.replace(/[_\-\s]/g, '').toLowerCase();
}

/** Letters to add, drop, replace or swap with their neighbour until one word is the other. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swaps = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = swaps ? at(i - 2, j - 2) + 1 : replaced;
      row.push(Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}
