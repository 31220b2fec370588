import { z } from 'zod';
import { configSchema } from '../../config/schema.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

/** Prints the JSON Schema of the configuration file, for editors that complete and check YAML by it. */
export function printConfigSchema(terminal: Pick<Terminal, 'out'>): ExitCode {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  const named = { title: 'Configuration of research-gateway', ...schema };
  terminal.out(`${JSON.stringify(withReferences(named), null, 2)}\n`);
  return EXIT.completed;
}

/** A value may be a reference to a variable or a file, whatever it has to be. */
function withReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withReferences);
  if (typeof schema !== 'object' || schema === null) return schema;
  const read = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withReferences(value)]));
  const isNumber = read.type === 'integer' || read.type === 'number' || read.type === 'boolean';
  const isBound =
    read.type === 'string' && ['pattern', 'format', 'enum', 'const'].some((name) => Object.hasOwn(read, name));
  return isNumber || isBound ? { anyOf: [read, REFERENCE] } : read;
}

const REFERENCE = { type: 'string', pattern: '\\$\\{' };
