import { z } from 'zod';
import { seconds, size } from '../units.ts';
import { route, routes } from './providers.ts';

/** `models`: what clients may ask for. */

/** Values of `models.<name>.apis`: those of the gateway itself and the `/v1/<path>` families of proxy models. */
const api = z
  .string()
  .regex(/^[a-z][a-z0-9_/.-]*$/, 'must be an API name such as responses, async, chat_completions, embeddings');

export const effortLevel = z.enum(['low', 'medium', 'high']);
/** Whose grammar responses have where it is not the service's own. */
export const profile = z.enum(['openai']);
export const budget = z.strictObject({
  turns: z.int().positive().optional(),
  tool_calls: z.int().positive().optional(),
  tokens: z.int().positive().optional(),
  minutes: z.number().positive().optional(),
  /** In `server.currency`; only where every route has a price. */
  cost: z.number().positive().optional(),
  parallel_tool_calls: z.int().positive().max(64).optional(),
});
/** Where runs search and read, unless their request says it. */
const sources = z.strictObject({
  allowed_domains: z.array(z.string().min(1)).optional(),
  blocked_domains: z.array(z.string().min(1)).optional(),
  after: z.iso.date().optional(),
  before: z.iso.date().optional(),
  met_only: z.boolean().optional(),
});
const tools = z.array(z.string().min(1)).default(['web_search', 'fetch_url_content']);
const research = z
  .strictObject({
    effort: effortLevel.default('medium'),
    tools,
    /** Own budgets; what is absent keeps its default (see docs/configuration.md). */
    budgets: z.partialRecord(effortLevel, budget).default({}),
    /** Recent tool results that stay whole in the context. */
    keep_tool_results: z.int().positive().default(5),
    /** The part of the context up to which requests only grow; then older turns become findings. */
    compact_at: z.number().min(0.1).max(0.9).default(0.42),
    /** A cheaper route that summarises huge pages; absent: the model's own routes. */
    reader: z.array(route).optional(),
    /** Whether the model holds doubtful sentences against their sources where the request does not say it. */
    verify: z.union([z.literal('auto'), z.boolean()]).default('auto'),
    /** Whether reports have sections where the request does not say it. */
    report: z.enum(['auto', 'short', 'full']).default('auto'),
    /** Whether runs plan whose request does not say it. */
    plan: z.enum(['auto', 'propose', 'off']).optional(),
    /** Whether runs may ask back whose request does not say it. */
    clarify: z.boolean().default(false),
    /** Parts of a plan that are researched at the same time, and how often the whole question is, where the request does not say it. */
    lanes: z.int().min(1).max(8).default(1),
    attempts: z.int().min(1).max(8).default(1),
    /** Whether reports may have charts where the request does not say it. */
    charts: z.boolean().default(false),
    sources: sources.optional(),
    /** Added to the system prompt of every run of this model. */
    instructions: z.string().optional(),
  })
  .refine(({ lanes, attempts }) => lanes === 1 || attempts === 1, {
    path: ['attempts'],
    message: 'cannot be above 1 together with lanes',
  });

/** What a provider may answer: a status, or its own code. */
const failoverRule = z
  .array(
    z.union(
      [z.int().min(400).max(599), z.string().trim().min(1)],
      'must be a status from 400 to 599, or a code of the provider as text, such as "model_overloaded" or "1305"',
    ),
  )
  .min(1);

/** Answers of proxied calls that are given again to the same user. */
const cache = z
  .strictObject({
    ttl_seconds: seconds,
    /** What they may take together, in the memory of a process. */
    max_bytes: size.prefault('16mb'),
  })
  .transform(({ ttl_seconds: ttlMs, max_bytes: maxBytes }) => ({ ttlMs, maxBytes }));

const modelBase = {
  apis: z.array(api).min(1).default(['chat_completions']),
  context_length: z.int().positive().default(128_000),
  max_completion_tokens: z.int().positive().default(16_384),
  owned_by: z.string().min(1).default('research-gateway'),
  /** Unix seconds, shown by /v1/models. */
  created: z.int().nonnegative().default(0),
  /** After so long without a word a second route is asked beside the first; absent: never. */
  hedge_after: seconds.optional(),
  /** Whose calls go to the same route while it works, where routes have weights; absent: each call and each run draws. */
  sticky: z.enum(['user', 'conversation']).optional(),
  /** Answers of a provider that make the gateway ask the next route, beside those that always do. */
  failover_on: failoverRule.optional(),
  /** Answers that go to the client although they would make it ask the next route. */
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
      /** Whether the provider's model reads images; absent: `input_image` is refused. */
      vision: z.boolean().default(false),
      profile: profile.optional(),
      research: research.prefault({}),
    }),
    z.strictObject({
      kind: z.literal('proxy'),
      ...modelBase,
      cache: cache.optional(),
      /** A stream that breaks is continued by the next route, in place. */
      continue_streams: z.boolean().default(false),
      /**
       * Who makes responses: the provider (`native`) or the gateway, out of turns over any wire. Absent: the provider where
       * every route speaks that wire.
       */
      responses: z.enum(['native', 'gateway']).optional(),
      /** Whether the provider's model reads images, PDFs, and hears audio, in responses that the gateway makes. */
      vision: z.boolean().default(false),
      files: z.boolean().default(false),
      audio: z.boolean().default(false),
      /** Tools that run here and that its clients may name, in responses that the gateway makes. */
      tools,
    }),
  ],
  { error: 'must be one of: research, proxy' },
);
