import type { IncomingMessage } from 'node:http';
import { fieldError } from '../base/errors.ts';

/** Where a page of a list begins and how long it is (docs/api.md, "The other Responses endpoints"). */
export interface PageQuery {
  limit: number;
  /** The list's own where absent. */
  order?: 'asc' | 'desc' | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

/** The query parameters of a request, read strictly: what is there is valid or an error that names it. */
export class Query {
  readonly #params: URLSearchParams;

  constructor(req: IncomingMessage) {
    const url = req.url ?? '';
    const mark = url.indexOf('?');
    this.#params = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
  }

  /** The value, or undefined where it is absent. @throws GatewayError where it is given twice. */
  text(name: string): string | undefined {
    const [value, ...others] = this.#params.getAll(name);
    if (others.length > 0) throw fieldError('invalid_parameter', name, 'give it once.');
    return value;
  }

  /** `true` or `false`; false where absent. */
  flag(name: string): boolean {
    const value = this.text(name);
    if (value === undefined || value === 'false') return false;
    if (value === 'true') return true;
    throw fieldError('invalid_parameter', name, 'expected true or false.');
  }

  integer(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw fieldError('invalid_parameter', name, `expected an integer from ${min} to ${max}.`);
  }

  page({ limit, max }: { limit: number; max: number }): PageQuery {
    return {
      limit: this.integer('limit', { min: 1, max }) ?? limit,
      order: this.choice('order', ['asc', 'desc']),
      after: this.text('after'),
      before: this.text('before'),
    };
  }

  /** One of `values`. */
  choice<const T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = values.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    throw fieldError('invalid_parameter', name, `expected one of ${values.join(', ')}.`);
  }
}
