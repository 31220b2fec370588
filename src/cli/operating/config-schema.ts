import { z } from 'zod';
import { configSchema } from '../../config/schema.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

/** Prints the JSON Schema of the configuration file, for editors that complete and check YAML with it. */
export function printConfigSchema(terminal: Pick<Terminal, 'out'>): ExitCode {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  const titled = { title: 'Configuration of research-gateway', ...schema };
  terminal.out(`${JSON.stringify(withReferences(titled), null, 2)}\n`);
  return EXIT.completed;
}

/** Allows a reference to a variable or a file in place of any value. */
function withReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withReferences);
  if (typeof schema !== 'object' || schema === null) return schema;
  const converted = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withReferences(value)]));
  const isNumber = converted.type === 'integer' || converted.type === 'number' || converted.type === 'boolean';
  const isRestricted =
    converted.type === 'string' &&
    ['pattern', 'format', 'enum', 'const'].some((name) => Object.hasOwn(converted, name));
  return isNumber || isRestricted ? { anyOf: [converted, REFERENCE] } : converted;
}

const REFERENCE = { type: 'string', pattern: '\\$\\{' };
