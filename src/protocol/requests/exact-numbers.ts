import { GatewayError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { withoutTrailing } from '../../base/text.ts';
import { topLevelSpans } from './json-spans.ts';
import { pathText } from './parse.ts';

/**
 * Refuses numbers in fields of a body that would come back changed (docs/api.md, "POST /v1/responses"): JavaScript keeps
 * 64 bits of each.
 * @throws GatewayError `invalid_parameter` naming the first one.
 */
export function requireExactNumbers(body: Buffer, fields: readonly string[]): void {
  const spans = fields.flatMap((field) => topLevelSpans(body, field).map((span) => ({ field, ...span })));
  for (const { field, start, end } of spans) {
    const path = inexactNumber(body.toString('utf8', start, end));
    if (path === undefined) continue;
    const param = pathText([field, ...path]);
    throw new GatewayError('invalid_parameter', `${param}: this number cannot be kept exactly: send it as a string.`, {
      param,
    });
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
