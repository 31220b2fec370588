import { z } from 'zod';
import { isObject } from '../base/json.ts';
import { once } from '../base/once.ts';
import { configSchema } from './schema.ts';

/** Made for the first mistake; a file may have thousands. */
const schema = once(() => z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }));

/** The keys that the configuration knows at one place. */
export interface KnownKeys {
  /** Those of the kind that the section is. */
  matching: string[];
  /** Those of other kinds only. */
  others: string[];
  /** What makes it that kind, such as `kind: research`. */
  kind?: string | undefined;
}

/** The keys that the configuration knows at a path, where `section` stands, read off the schema. */
export function knownKeys(path: readonly PropertyKey[], section: unknown): KnownKeys {
  let nodes: unknown[] = [schema()];
  for (const part of path) nodes = nodes.flatMap(options).flatMap((node) => childrenAt(node, part));
  const kinds = nodes.flatMap(options).filter(isObject);
  const same = kinds.filter((node) => constantsOf(node).some(([key, value]) => at(section, key) === value));
  const fitting = new Set((same.length > 0 ? same : kinds).flatMap(keysOf));
  const others = kinds.flatMap(keysOf).filter((key) => !fitting.has(key));
  const [constant] = same.flatMap(constantsOf);
  return { matching: [...fitting], others, kind: constant && `${constant[0]}: ${String(constant[1])}` };
}

function keysOf({ properties, propertyNames }: Record<string, unknown>): string[] {
  if (isObject(properties)) return Object.keys(properties);
  const names = isObject(propertyNames) ? propertyNames.enum : undefined;
  return Array.isArray(names) ? names.map(String) : [];
}

/** The keys whose one possible value says which kind of section it is. */
function constantsOf({ properties }: Record<string, unknown>): [string, unknown][] {
  const entries = isObject(properties) ? Object.entries(properties) : [];
  return entries.flatMap(([key, schema]): [string, unknown][] =>
    isObject(schema) && 'const' in schema ? [[key, schema.const]] : [],
  );
}

function at(section: unknown, key: string): unknown {
  return isObject(section) && Object.hasOwn(section, key) ? section[key] : undefined;
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
