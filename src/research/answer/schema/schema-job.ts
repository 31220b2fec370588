import { z } from 'zod';
import type { JsonValue } from '../../../base/json.ts';

/** The messages between the gateway and the processes that check clients' schemas. */

/** A schema to compile and, if there is one, a value to validate. */
export interface SchemaJob {
  schema: Record<string, unknown>;
  value?: JsonValue;
}

/**
 * `valid`: the schema can be compiled, and the value, if any, is valid under it. `bad_schema`: it is not JSON Schema.
 * `invalid`: what is wrong with the value. `costly`: it took more time or memory than one schema gets.
 */
export const schemaVerdict = z.discriminatedUnion('is', [
  z.object({ is: z.literal('valid') }),
  z.object({ is: z.literal('bad_schema'), problem: z.string() }),
  z.object({ is: z.literal('invalid'), problem: z.string() }),
  z.object({ is: z.literal('costly') }),
]);
export type SchemaVerdict = z.output<typeof schemaVerdict>;

/** Compiles clients' schemas, and validates answers of models against them. */
export interface SchemaChecker {
  /** @throws GatewayError `overloaded` where too many wait; the signal's reason. */
  check(job: SchemaJob, options: { signal: AbortSignal }): Promise<SchemaVerdict>;
}
