import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { formatPath, withoutTrailing } from '../../base/text.ts';
import { fitsShape, type JsonShape, topLevelSpans } from './json-spans.ts';

/** Looking at each number of a field that goes beyond would take seconds: attributes of 500 files stay far below it. */
const MAX_SHAPE: JsonShape = { depth: 64, containers: 20_000, members: 20_000, entries: 20_000 };

/**
 * Refuses numbers in fields of a body that would come back changed (docs/api.md, "POST /v1/responses"): JavaScript keeps
 * 64 bits of each. Of a field that is there twice the last counts, as everywhere.
 * @throws GatewayError `invalid_parameter` naming the first one, or a field that holds too many values to look at.
 */
export function requireExactNumbers(body: Buffer, fields: readonly string[]): void {
  for (const field of fields) {
    const span = topLevelSpans(body, field).at(-1);
    if (!span) continue;
    const json = body.subarray(span.start, span.end);
    if (!fitsShape(json, MAX_SHAPE)) {
      throw fieldError('invalid_parameter', field, 'this field holds too many values.');
    }
    const path = inexactNumber(json.toString('utf8'));
    if (path === undefined) continue;
    const param = formatPath([field, ...path]);
    throw fieldError('invalid_parameter', param, 'this number cannot be kept exactly: send it as a string.');
  }
}

/** The same of `metadata`. */
export function requireExactMetadata(body: Buffer): void {
  requireExactNumbers(body, ['metadata']);
}

/** Stands for a number that is not what was written. */
class Inexact {}

/** Where the first number stands that JavaScript does not keep. */
function inexactNumber(json: string): (string | number)[] | undefined {
  const marked: unknown = JSON.parse(json, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !isKept(value, context?.source ?? '') ? new Inexact() : value,
  );
  return pathTo(marked);
}

function pathTo(value: unknown): (string | number)[] | undefined {
  if (value instanceof Inexact) return [];
  const entries = Array.isArray(value) ? value.entries() : isObject(value) ? Object.entries(value) : [];
  for (const [name, inner] of entries) {
    const path = pathTo(inner);
    if (path) return [name, ...path];
  }
  return undefined;
}

/** Whether a number is the one that was written, perhaps in another notation. */
function isKept(value: number, written: string): boolean {
  return Number.isFinite(value) && digitsOf(String(value)) === digitsOf(written);
}

/** A number in one notation: its digits without zeros around them, and where the point stands. */
function digitsOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = withoutTrailing(all, '0');
  if (digits === '') return '0';
  return `${sign}${digits}e${Number(exponent) - fraction.length + all.length - digits.length}`;
}
