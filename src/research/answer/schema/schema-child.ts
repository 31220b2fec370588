/**
 * Entry of the child process that compiles and applies schemas: one job at a time over the IPC channel. It has no
 * permissions beyond reading its own code, and the parent ends it when it takes too long or too much memory.
 */
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { messageOf } from '../../../base/errors.ts';
import type { SchemaJob, SchemaVerdict } from './schema-job.ts';

/** Returns what is wrong with a value, in words for the model, or undefined. */
type Validator = (value: unknown) => string | undefined;

/** The longest list of validation errors, in UTF-16 code units. */
const MAX_ERRORS_LENGTH = 2000;

/**
 * Compiles a JSON Schema: draft 2020-12, or the older drafts that many tools still name in `$schema`.
 * References are compiled to calls, not inlined: inlined references to references grow without bound.
 * @throws Error for an invalid or unsupported schema.
 */
function compileSchema(given: Record<string, unknown>): Validator {
  const { $schema, ...schema } = given;
  if ('$async' in schema) throw new Error('$async is not supported');
  const options = { strict: false, allErrors: true, logger: false, inlineRefs: false } as const;
  const older = typeof $schema === 'string' && /draft-0[3-7]/.test($schema);
  const ajv = older ? new Ajv(options) : new Ajv2020(options);
  ajvFormats.default(ajv);
  const validate = ajv.compile(schema);
  return (value) => {
    if (validate(value)) return undefined;
    return ajv.errorsText(validate.errors, { dataVar: 'answer' }).slice(0, MAX_ERRORS_LENGTH);
  };
}

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
  return problem === undefined ? { is: 'valid' } : { is: 'invalid', problem };
}

process.on('message', (job: SchemaJob) => {
  process.send?.('begun');
  process.send?.(verdictOn(job));
});
process.on('disconnect', () => process.exit(0));
process.send?.('started');
