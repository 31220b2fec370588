import type { JsonValue } from '../../../base/json.ts';

/** What is told between the gateway and the processes that work on clients' schemas. */

/** A schema to compile and, where there is one, a value to hold against it. */
export interface SchemaJob {
  schema: Record<string, unknown>;
  value?: JsonValue;
}

/**
 * `fits`: the schema can be compiled, and the value, if any, is valid under it. `bad_schema`: it is not JSON Schema.
 * `misfits`: what is wrong with the value. `costly`: it took more time or memory than one schema gets.
 */
export type SchemaVerdict =
  | { is: 'fits' }
  | { is: 'bad_schema'; problem: string }
  | { is: 'misfits'; problem: string }
  | { is: 'costly' };

/** What a process tells: that it is up (starting is not the schema's fault), and how a job ended. */
export type ChildMessage = { said: 'ready' } | { said: 'done'; verdict: SchemaVerdict };

/** Holds schemas of clients, and answers of models, against each other. */
export interface SchemaChecker {
  /** @throws GatewayError `overloaded` where too many wait; the signal's reason. */
  check(job: SchemaJob, options: { signal: AbortSignal }): Promise<SchemaVerdict>;
}
