import { z } from 'zod';
import { seconds, size } from '../units.ts';
import { route, routes } from './providers.ts';
import { hosts } from './values.ts';

/** `models`: the models that clients may name. */

/** Values of `models.<name>.apis`: the gateway's own APIs, and `/v1/<path>` families of proxy models. */
const api = z
  .string()
  .regex(/^[a-z][a-z0-9_/.-]*$/, 'must be an API name such as responses, async, chat_completions, embeddings');

export const effortLevel = z.enum(['low', 'medium', 'high']);
/** The item and event types of responses; absent: the service's own. */
export const profile = z.enum(['openai']);
export const budget = z.strictObject({
  turns: z.int().positive().optional(),
  tool_calls: z.int().positive().optional(),
  tokens: z.int().positive().optional(),
  minutes: z.number().positive().optional(),
  /** In `server.currency`; requires a price on every route. */
  cost: z.number().positive().optional(),
  parallel_tool_calls: z.int().positive().max(64).optional(),
});
const day = z.iso.date('must be a date such as 2024-03-31');
/** Where runs search and read, unless the request says otherwise. */
const sources = z.strictObject({
  allowed_domains: hosts.optional(),
  blocked_domains: hosts.optional(),
  after: day.optional(),
  before: day.optional(),
  met_only: z.boolean().optional(),
});
const tools = z.array(z.string().min(1)).default(['web_search', 'fetch_url_content']);
const research = z
  .strictObject({
    effort: effortLevel.default('medium'),
    tools,
    /** Overrides of the default budgets (docs/configuration.md). */
    budgets: z.partialRecord(effortLevel, budget).default({}),
    /** How many recent tool results stay whole in the context. */
    keep_tool_results: z.int().positive().default(5),
    /** The share of the context at which older turns are compacted to findings; until then requests only grow. */
    compact_at: z.number().min(0.1).max(0.9).default(0.42),
    /** Cheaper routes that summarise huge pages. Default: the model's own routes. */
    reader: z.array(route).optional(),
    /** Default of a request's `research.verify`: whether the model checks doubtful sentences against their sources. */
    verify: z.union([z.literal('auto'), z.boolean()], 'must be auto, true or false').default('auto'),
    /** Default of a request's `research.report`: whether reports have sections. */
    report: z.enum(['auto', 'short', 'full']).default('auto'),
    /** Default of a request's `research.plan`: whether a run makes a plan. */
    plan: z.enum(['auto', 'propose', 'off']).optional(),
    /** Default of a request's `research.clarify`: whether a run may ask the user a question first. */
    clarify: z.boolean().default(false),
    /** Defaults of a request: how many parts of a plan, or attempts at the whole question, are researched in parallel. */
    lanes: z.int().min(1).max(8).default(1),
    attempts: z.int().min(1).max(8).default(1),
    /** Default of a request's `research.charts`: whether reports may have charts. */
    charts: z.boolean().default(false),
    sources: sources.optional(),
    /** Appended to the system prompt of every run of this model. */
    instructions: z.string().optional(),
  })
  .refine(({ lanes, attempts }) => lanes === 1 || attempts === 1, {
    path: ['attempts'],
    message: 'cannot be above 1 together with lanes',
  });

/** Answers of a provider: HTTP statuses, or error codes of its own. */
const failoverRule = z
  .array(
    z.union(
      [z.int().min(400).max(599), z.string().trim().min(1)],
      'must be a status from 400 to 599, or a code of the provider as text, such as "model_overloaded" or "1305"',
    ),
  )
  .min(1);

/** A cache of answers to proxied calls, per user. */
const cache = z
  .strictObject({
    ttl_seconds: seconds,
    /** The total size of the cached answers in one process. */
    max_bytes: size.prefault('16mb'),
  })
  .transform(({ ttl_seconds: ttlMs, max_bytes: maxBytes }) => ({ ttlMs, maxBytes }));

const modelBase = {
  apis: z.array(api).min(1).default(['chat_completions']),
  context_length: z.int().positive().default(128_000),
  max_completion_tokens: z.int().positive().default(16_384),
  owned_by: z.string().min(1).default('research-gateway'),
  /** Unix seconds, for /v1/models. */
  created: z.int().nonnegative().default(0),
  /** How long a route may be silent before a second one is tried in parallel. Default: never. */
  hedge_after: seconds.optional(),
  /** With weighted routes, whose calls stay on one route while it works. Default: every call and run is drawn anew. */
  sticky: z.enum(['user', 'conversation']).optional(),
  /** Answers on which the gateway tries the next route, besides those on which it always does. */
  failover_on: failoverRule.optional(),
  /** Answers that the client gets although the gateway would otherwise try the next route. */
  failover_off: failoverRule.optional(),
  routes,
};
export const model = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.literal('research'),
      ...modelBase,
      apis: z
        .array(z.enum(['responses', 'async', 'chat_completions']))
        .min(1)
        .default(['responses', 'async', 'chat_completions']),
      /** Whether the provider's model reads images; if not, `input_image` is refused. */
      vision: z.boolean().default(false),
      profile: profile.optional(),
      research: research.prefault({}),
    }),
    z.strictObject({
      kind: z.literal('proxy'),
      ...modelBase,
      cache: cache.optional(),
      /** Whether the next route continues a stream that breaks, within the same answer. */
      continue_streams: z.boolean().default(false),
      /**
       * Who implements the Responses API: the provider (`native`), or the gateway, with turns over any wire. Default: the
       * provider if every route has the wire `responses`.
       */
      responses: z.enum(['native', 'gateway']).optional(),
      /** Whether the provider's model reads images and PDFs and hears audio, in responses that the gateway implements. */
      vision: z.boolean().default(false),
      files: z.boolean().default(false),
      audio: z.boolean().default(false),
      /** Server-side tools that clients may name, in responses that the gateway implements. */
      tools,
    }),
  ],
  { error: 'must be one of: research, proxy' },
);
