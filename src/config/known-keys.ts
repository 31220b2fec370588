import { z } from 'zod';
import { isObject } from '../base/json.ts';
import { once } from '../base/once.ts';
import { configSchema } from './schema.ts';

/** Built for the first mistake only; a file may have thousands. */
const schema = once(() => z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }));

/** The keys that are valid at one place of the configuration. */
export interface KnownKeys {
  /** Keys of the section's own kind. */
  matching: string[];
  /** Keys that only sections of another kind have. */
  others: string[];
  /** The setting that decides the kind, such as `kind: research`. */
  kind?: string | undefined;
}

/** The keys that the schema allows in `section` at `path`. */
export function knownKeys(path: readonly PropertyKey[], section: unknown): KnownKeys {
  let nodes: unknown[] = [schema()];
  for (const part of path) nodes = nodes.flatMap(options).flatMap((node) => childrenAt(node, part));
  const kinds = nodes.flatMap(options).filter(isObject);
  const sameKind = kinds.filter((node) => constantsOf(node).some(([key, value]) => valueAt(section, key) === value));
  const matching = new Set((sameKind.length > 0 ? sameKind : kinds).flatMap(keysOf));
  const others = kinds.flatMap(keysOf).filter((key) => !matching.has(key));
  const [constant] = sameKind.flatMap(constantsOf);
  return { matching: [...matching], others, kind: constant && `${constant[0]}: ${String(constant[1])}` };
}

function keysOf({ properties, propertyNames }: Record<string, unknown>): string[] {
  if (isObject(properties)) return Object.keys(properties);
  const names = isObject(propertyNames) ? propertyNames.enum : undefined;
  return Array.isArray(names) ? names.map(String) : [];
}

/** The keys with only one possible value, which decides the kind of the section. */
function constantsOf({ properties }: Record<string, unknown>): [string, unknown][] {
  const entries = isObject(properties) ? Object.entries(properties) : [];
  return entries.flatMap(([key, schema]): [string, unknown][] =>
    isObject(schema) && 'const' in schema ? [[key, schema.const]] : [],
  );
}

function valueAt(section: unknown, key: string): unknown {
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
