import { z } from 'zod';
import { boundedList, optional } from './parse.ts';
import { domain } from './request-tools.ts';

/** `research` of a request (docs/api.md, "`research`"): how a run is planned, researched and written. */

const domains = boundedList(domain.meta({ type: 'string' }), { max: 100 });

/** A date; a date with a time becomes its day in UTC, such as `2024-03-31`. */
const day = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], 'must be an ISO 8601 date such as 2024-03-31')
  .transform((text) => (text.length === 10 ? text : new Date(text).toISOString().slice(0, 10)));

const sources = z
  .strictObject({
    allowed_domains: optional(domains),
    blocked_domains: optional(domains),
    /** Both dates are inclusive; pages without a known date are not excluded. */
    after: optional(day),
    before: optional(day),
    met_only: optional(z.boolean()),
  })
  .refine(({ after, before }) => after === undefined || before === undefined || after <= before, {
    path: ['after'],
    message: 'must not be later than before',
  })
  .meta({
    description:
      'Limits searching and reading. Dates are inclusive, and pages without a known date are not excluded. met_only: only addresses that a result, a page of the run or a message named are read.',
  });

/** How many lanes or attempts research in parallel. */
const parallel = z.int().min(1).max(8);

export const researchOptions = z.strictObject({
  plan: optional(z.enum(['auto', 'propose', 'off'])),
  sources: optional(sources),
  clarify: optional(z.boolean()),
  report: optional(z.enum(['auto', 'short', 'full'])),
  verify: optional(z.union([z.literal('auto'), z.boolean()], 'must be auto, true or false')),
  lanes: optional(parallel),
  attempts: optional(parallel),
  charts: optional(z.boolean()),
});
export type ResearchOptions = z.output<typeof researchOptions>;
