import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';

/** A validator: what is wrong with a value, in words for the model, or undefined. */
export type Validator = (value: unknown) => string | undefined;

/** The longest list of what is wrong, in UTF-16 code units. */
const MAX_PROBLEM = 2000;

/**
 * Compiles a JSON Schema: draft 2020-12, or the older drafts that many tools still name in `$schema`.
 * References are called, not copied in: copies of copies grow without bound. Only for processes that have a
 * limit of time and memory: what compiling costs is the schema's choice.
 * @throws Error for what is none, or cannot be checked here.
 */
export function compileSchema(given: Record<string, unknown>): Validator {
  const { $schema, ...schema } = given;
  if ('$async' in schema) throw new Error('$async is not supported');
  const options = { strict: false, allErrors: true, logger: false, inlineRefs: false } as const;
  const older = typeof $schema === 'string' && /draft-0[3-7]/.test($schema);
  const ajv = older ? new Ajv(options) : new Ajv2020(options);
  ajvFormats.default(ajv);
  const validate = ajv.compile(schema);
  return (value) => {
    if (validate(value)) return undefined;
    return ajv.errorsText(validate.errors, { dataVar: 'answer' }).slice(0, MAX_PROBLEM);
  };
}
