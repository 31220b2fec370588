import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonValue } from '../../base/json.ts';

/** How many steps a check may take: a server's schema may be made so that its check never ends. */
const MAX_STEPS = 50_000;
const MAX_DEPTH = 64;
/** A comparison of two whole objects counts as this many steps. */
const COMPARISON_STEPS = 500;

/**
 * Explains why `value` does not match a JSON Schema; undefined if it does. The time is bounded for any schema: it checks
 * the keywords that describe structure (types, properties, items, ranges, alternatives, local references) and ignores
 * those that cannot be bounded (`pattern`, `format`, `uniqueItems`).
 */
export function schemaMismatch(schema: JsonValue, value: JsonValue): string | undefined {
  try {
    return new SchemaCheck(schema).explain(schema, value, '');
  } catch (error) {
    if (error instanceof TooCostlyError) return 'the output schema is too costly to check';
    throw error;
  }
}

class TooCostlyError extends Error {}

class SchemaCheck {
  readonly #root: JsonValue;
  #steps = 0;
  #depth = 0;

  constructor(root: JsonValue) {
    this.#root = root;
  }

  explain(schema: JsonValue, value: JsonValue, path: string): string | undefined {
    this.#count(1);
    if (schema === false) return `${path || 'the value'} is not allowed`;
    if (!isJsonObject(schema)) return undefined;
    if (++this.#depth > MAX_DEPTH) throw new TooCostlyError();
    const problem =
      this.#reference(schema, value, path) ??
      this.#scalar(schema, value, path) ??
      this.#object(schema, value, path) ??
      this.#array(schema, value, path) ??
      this.#alternatives(schema, value, path);
    this.#depth--;
    return problem;
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new TooCostlyError();
  }

  #reference(schema: Schema, value: JsonValue, path: string): string | undefined {
    const { $ref } = schema;
    if (typeof $ref !== 'string') return undefined;
    const target = this.#resolve($ref);
    return target === undefined ? undefined : this.explain(target, value, path);
  }

  /** Resolves a reference within the schema; any other is ignored. */
  #resolve(reference: string): JsonValue | undefined {
    if (!reference.startsWith('#')) return undefined;
    let target: JsonValue | undefined = this.#root;
    for (const part of reference.slice(1).split('/').slice(1)) {
      this.#count(1 + part.length / 100);
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (Array.isArray(target)) target = target[Number(key)];
      else if (isJsonObject(target)) target = Object.hasOwn(target, key) ? target[key] : undefined;
      else return undefined;
    }
    return target;
  }

  #scalar(schema: Schema, value: JsonValue, path: string): string | undefined {
    const name = path || 'the value';
    const types = typeof schema.type === 'string' ? [schema.type] : Array.isArray(schema.type) ? schema.type : [];
    if (types.length > 0 && !types.some((type) => hasType(value, type))) return `${name} must be ${types.join(' or ')}`;
    if ('const' in schema && !this.#equal(schema.const, value)) return `${name} is not the constant required`;
    if (Array.isArray(schema.enum) && !schema.enum.some((item) => this.#equal(item, value))) {
      return `${name} is not one of the values allowed`;
    }
    if (typeof value === 'number') return rangeProblem(schema, value, name);
    if (typeof value === 'string') {
      if (isBelow(value.length, schema.minLength)) return `${name} is too short`;
      if (isAbove(value.length, schema.maxLength)) return `${name} is too long`;
    }
    return undefined;
  }

  #equal(expected: JsonValue | undefined, value: JsonValue): boolean {
    const costly = typeof expected === 'object' && expected !== null;
    this.#count(costly ? COMPARISON_STEPS : 1);
    return costly ? isDeepStrictEqual(expected, value) : expected === value;
  }

  #object(schema: Schema, value: JsonValue, path: string): string | undefined {
    if (!isJsonObject(value)) return undefined;
    const required = Array.isArray(schema.required) ? schema.required : [];
    for (const key of required) {
      this.#count(1);
      if (typeof key === 'string' && !Object.hasOwn(value, key)) return `${join(path, key)} is missing`;
    }
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    const others = 'patternProperties' in schema ? undefined : schema.additionalProperties;
    const entries = Object.entries(value);
    // Counted even if the first entry does not match, because listing the entries is the cost.
    this.#count(entries.length);
    for (const [key, part] of entries) {
      const rule = Object.hasOwn(properties, key) ? properties[key] : others;
      const problem = rule === undefined ? undefined : this.explain(rule, part, join(path, key));
      if (problem) return problem;
    }
    return undefined;
  }

  #array(schema: Schema, value: JsonValue, path: string): string | undefined {
    if (!Array.isArray(value)) return undefined;
    const name = path || 'the value';
    if (isBelow(value.length, schema.minItems)) return `${name} has too few items`;
    if (isAbove(value.length, schema.maxItems)) return `${name} has too many items`;
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    for (const [index, item] of value.entries()) {
      const rule = index < first.length ? first[index] : schema.items;
      const problem = rule === undefined ? this.#count(1) : this.explain(rule, item, `${path}[${index}]`);
      if (problem) return problem;
    }
    return undefined;
  }

  #alternatives(schema: Schema, value: JsonValue, path: string): string | undefined {
    for (const item of list(schema.allOf)) {
      const problem = this.explain(item, value, path);
      if (problem) return problem;
    }
    const matching = (schemas: JsonValue[]) => schemas.filter((item) => !this.explain(item, value, path)).length;
    const name = path || 'the value';
    if (Array.isArray(schema.anyOf) && matching(schema.anyOf) === 0) return `${name} matches none of its alternatives`;
    if (Array.isArray(schema.oneOf) && matching(schema.oneOf) !== 1) {
      return `${name} must match exactly one of its alternatives`;
    }
    if (schema.not !== undefined && !this.explain(schema.not, value, path)) return `${name} is not allowed`;
    return undefined;
  }
}

type Schema = { [key: string]: JsonValue };

function list(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function hasType(value: JsonValue, type: JsonValue): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function rangeProblem(schema: Schema, value: number, name: string): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (isBelow(value, minimum) || (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)) {
    return `${name} is too small`;
  }
  if (isAbove(value, maximum) || (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)) {
    return `${name} is too large`;
  }
  return undefined;
}

function isBelow(value: number, limit: JsonValue | undefined): boolean {
  return typeof limit === 'number' && value < limit;
}

function isAbove(value: number, limit: JsonValue | undefined): boolean {
  return typeof limit === 'number' && value > limit;
}

function join(path: string, key: string): string {
  const short = key.length > 60 ? `${key.slice(0, 60)}...` : key;
  return path === '' ? short : `${path}.${short}`;
}
