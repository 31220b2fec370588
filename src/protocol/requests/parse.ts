import { z } from 'zod';
import { type ErrorCode, GatewayError, isErrorCode } from '../../base/errors.ts';
import { isObject, scalarText } from '../../base/json.ts';
import { measureStep } from '../../base/load/event-loop.ts';
import { formatPath } from '../../base/text.ts';

/**
 * Turns a parsed body into a typed request, or throws the first error with the code and `param` of docs/api.md,
 * "Errors". Schemas choose an error code with issues of code `custom` that have it in `params.code`.
 */

/** The result of `parseBody`: the request, and the names of fields without effect (`x-ignored-parameters`). */
interface ParsedBody<T> {
  value: T;
  ignored: string[];
}

/**
 * Parses a request body. Top-level fields that are null count as absent (docs/api.md, "In general"); unknown fields are
 * reported as ignored.
 * @throws GatewayError `invalid_json`, `missing_parameter`, `invalid_parameter`, or a code that the schema chooses.
 */
export function parseBody<T extends z.ZodObject>(schema: T, body: unknown): ParsedBody<z.output<T>> {
  if (!isObject(body)) throw new GatewayError('invalid_json', 'The request body must be a JSON object.');
  const present: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === null) continue;
    if (Object.hasOwn(schema.shape, name)) present[name] = value;
    else ignored.push(name);
  }
  return { value: parseValue(schema, present), ignored };
}

/**
 * Parses any value with a schema.
 * @throws GatewayError for the first issue, but for one that is `unsupported_parameter` before others.
 */
export function parseValue<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = measureStep('checking a request', () => schema.safeParse(value, { reportInput: true }));
  if (result.success) return result.data;
  // What is missing may be what a refused field would bring: `prompt` without `input`.
  const { issues } = result.error;
  const issue = issues.find((one) => codeOf(one) === 'unsupported_parameter') ?? issues[0];
  throw issue ? toError(issue) : new GatewayError('invalid_parameter', 'The request is invalid.');
}

/** An optional field in which null means absent. */
export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** After this many problems, parsing a value stops. */
const MAX_PROBLEMS = 20;

/**
 * An array of `item` with at most `max` entries. A longer one is refused before its entries are parsed, and parsing stops
 * after 20 problems. The API description uses the metadata of `item`.
 */
export function boundedList<T extends z.ZodType>(item: T, { min = 0, max }: { min?: number; max: number }) {
  const list = z
    .array(z.unknown())
    .min(min, 'must not be empty')
    .max(max)
    .transform((values, context): z.output<T>[] => {
      const parsed: z.output<T>[] = [];
      let problems = 0;
      for (const [index, value] of values.entries()) {
        const result = item.safeParse(value, { reportInput: true });
        if (result.success) parsed.push(result.data);
        else problems += report(result.error.issues.slice(0, MAX_PROBLEMS - problems), [index], context);
        if (problems >= MAX_PROBLEMS) break;
      }
      return problems > 0 ? z.NEVER : parsed;
    });
  return list.meta({ type: 'array', items: item.meta() ?? {}, minItems: min, maxItems: max });
}

/** Schemas drop an entry of this name silently, lest it sets the prototype of an object. */
const DROPPED_NAME = '__proto__';

/** An object that maps at most `max` names to values; `shown` describes them in the API description. */
export function mapOf<T extends z.ZodType>(
  value: T,
  options: { max: number; names?: z.ZodType<string, string>; shown?: Record<string, unknown> },
) {
  const { max, names = z.string(), shown = { type: 'string' } } = options;
  return z
    .unknown()
    .refine((map) => !isObject(map) || Object.keys(map).length <= max, {
      message: `expected at most ${max} names`,
      abort: true,
    })
    .refine((map) => !isObject(map) || !Object.hasOwn(map, DROPPED_NAME), {
      message: 'is a name that every JavaScript object has: choose another one',
      path: [DROPPED_NAME],
      abort: true,
    })
    .pipe(z.record(names, value))
    .meta({ type: 'object', additionalProperties: shown, maxProperties: max });
}

/** Why no schema fits a value: the code and message to report, and the field inside the value (`at`) that is wrong. */
export interface Refusal {
  refuse: ErrorCode;
  message: string;
  at?: string;
}

type OutputOf<C> = C extends z.ZodType ? z.output<C> : never;

/** A reference to a component of the API description (see `inputComponents`). */
export function schemaRef(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * A schema that chooses another one by the value, so that errors keep their path inside the chosen one. `choose` must
 * return existing schemas, because creating one costs more than using it.
 */
export function pickSchema<const C extends z.ZodType | Refusal>(choose: (value: unknown) => C) {
  return z.unknown().transform((value, context): OutputOf<C> => {
    const schema: z.ZodType | Refusal = choose(value);
    if ('refuse' in schema) {
      const code = value === undefined ? 'missing_parameter' : schema.refuse;
      const path = schema.at ? [schema.at] : [];
      context.addIssue({ code: 'custom', message: schema.message, params: { code }, path });
      return z.NEVER;
    }
    const result = schema.safeParse(value, { reportInput: true });
    if (result.success) return result.data as OutputOf<C>;
    report(result.error.issues.slice(0, MAX_PROBLEMS), [], context);
    return z.NEVER;
  });
}

/** Looks up the schema of an object by its `type`. `unknown`: the message for a type that is not in the table. */
export function byType<C extends z.ZodType>(
  value: unknown,
  schemas: Readonly<Record<string, C>>,
  unknown: string,
): C | Refusal {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  const { type } = value;
  if (type === undefined || type === null) {
    return { refuse: 'missing_parameter', message: 'this field is required', at: 'type' };
  }
  const name = scalarText(type);
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  return schema ?? { refuse: 'invalid_parameter', message: unknown, at: 'type' };
}

/** The parameters of a refinement that refuses a known but unsupported value. */
export function unsupported(message: string) {
  return { message, params: { code: 'unsupported_parameter' } };
}

/** Adds the issues of an inner schema to the outer one and returns their number. */
function report(issues: readonly z.core.$ZodIssue[], path: PropertyKey[], context: z.RefinementCtx): number {
  for (const issue of issues) {
    const params = { code: codeOf(issue) };
    context.addIssue({ code: 'custom', message: explain(issue), params, path: [...path, ...placeOf(issue)] });
  }
  return issues.length;
}

/** A known but unsupported field: any value is refused with `unsupported_parameter`. */
export function unsupportedField(message: string) {
  return z
    .unknown()
    .optional()
    .refine((value) => value === undefined || value === null, unsupported(message))
    .meta({ description: `Refused: ${message}.`, deprecated: true });
}

/** The path of the field in question, which may be one that is not known. */
function placeOf(issue: z.core.$ZodIssue): PropertyKey[] {
  return issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
}

function toError(issue: z.core.$ZodIssue): GatewayError {
  const param = formatPath(placeOf(issue));
  const message = explain(issue);
  return new GatewayError(codeOf(issue), param ? `${param}: ${message}` : message, param ? { param } : {});
}

function codeOf(issue: z.core.$ZodIssue): ErrorCode {
  if (issue.code === 'custom' && isErrorCode(issue.params?.code)) return issue.params.code;
  const absent = issue.input === undefined || issue.input === null;
  return absent && ['invalid_type', 'invalid_value', 'invalid_union', 'custom'].includes(issue.code)
    ? 'missing_parameter'
    : 'invalid_parameter';
}

function explain(issue: z.core.$ZodIssue): string {
  if (codeOf(issue) === 'missing_parameter' && issue.code !== 'custom') return 'this field is required.';
  if (issue.code === 'unrecognized_keys') return 'this field is not known.';
  if (issue.code === 'invalid_union' && 'discriminator' in issue) return 'this value is not known.';
  const text = issue.message.replace(/^Invalid (input|option): /, '').replace(/^Too (small|big): /, '');
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
