/**
 * Entry of the child process that compiles and applies schemas: one job at a time over the IPC channel. It has no
 * permissions beyond reading its own code, and the parent ends it when it takes too long or too much memory.
 */
import { messageOf } from '../../../base/errors.ts';
import { compileSchema, type Validator } from './json-schema.ts';
import type { SchemaJob, SchemaVerdict } from './schema-job.ts';

/** The longest message about a schema, in UTF-16 code units. */
const MAX_PROBLEM = 500;

function verdictOn({ schema, value }: SchemaJob): SchemaVerdict {
  let validate: Validator;
  try {
    validate = compileSchema(schema);
  } catch (error) {
    return { is: 'bad_schema', problem: messageOf(error).slice(0, MAX_PROBLEM) };
  }
  const problem = value === undefined ? undefined : validate(value);
  return problem === undefined ? { is: 'fits' } : { is: 'misfits', problem };
}

process.on('message', (job: SchemaJob) => process.send?.(verdictOn(job)));
process.on('disconnect', () => process.exit(0));
process.send?.('started');
