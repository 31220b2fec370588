import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { formatPath, withoutTrailing } from '../../base/text.ts';
import { fitsShape, type JsonShape, topLevelSpans } from './json-spans.ts';

/** Checking every number of a larger field would take seconds. The attributes of 500 files are far smaller. */
const MAX_SHAPE: JsonShape = { depth: 64, containers: 20_000, members: 20_000, entries: 20_000 };

/** The longest field that is checked, in bytes: a digit outside of a string costs as much as a value. */
const MAX_BYTES = 1024 * 1024;

/**
 * Refuses numbers that would be returned changed, because JavaScript stores them as 64-bit floats (docs/api.md, "POST
 * /v1/responses"). If a field is repeated, the last one counts, as with `JSON.parse`.
 * @throws GatewayError `invalid_parameter` naming the first such number, or a field with too many values, or too long ones, to check.
 */
export function requireExactNumbers(body: Buffer, fields: readonly string[]): void {
  for (const field of fields) {
    const span = topLevelSpans(body, field).at(-1);
    if (!span) continue;
    const json = body.subarray(span.start, span.end);
    if (json.length > MAX_BYTES || !fitsShape(json, MAX_SHAPE)) {
      throw fieldError('invalid_parameter', field, 'this field holds too many values, or too long ones.');
    }
    const path = inexactNumber(json.toString('utf8'));
    if (path === undefined) continue;
    const param = formatPath([field, ...path]);
    throw fieldError('invalid_parameter', param, 'this number cannot be kept exactly: send it as a string.');
  }
}

export function requireExactMetadata(body: Buffer): void {
  requireExactNumbers(body, ['metadata']);
}

/** Replaces a number that JavaScript cannot represent exactly. */
class Inexact {}

/** The path of the first number that JavaScript cannot represent exactly. */
function inexactNumber(json: string): (string | number)[] | undefined {
  const marked: unknown = JSON.parse(json, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !isExact(value, context?.source ?? '') ? new Inexact() : value,
  );
  return pathToInexact(marked);
}

function pathToInexact(value: unknown): (string | number)[] | undefined {
  if (value instanceof Inexact) return [];
  const entries = Array.isArray(value) ? value.entries() : isObject(value) ? Object.entries(value) : [];
  for (const [name, inner] of entries) {
    const path = pathToInexact(inner);
    if (path) return [name, ...path];
  }
  return undefined;
}

/** Whether a parsed number equals its source text, possibly in another notation. */
function isExact(value: number, written: string): boolean {
  return Number.isFinite(value) && digitsOf(String(value)) === digitsOf(written);
}

/** A canonical notation of a number: its digits without leading and trailing zeros, and its exponent. */
function digitsOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = withoutTrailing(all, '0');
  if (digits === '') return '0';
  return `${sign}${digits}e${Number(exponent) - fraction.length + all.length - digits.length}`;
}
