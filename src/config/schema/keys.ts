import { z } from 'zod';
import { isNetwork } from '../../base/networks.ts';
import { profile } from './models.ts';
import { routes } from './providers.ts';
import { credential, name } from './values.ts';
import { keyWebhook } from './webhooks.ts';

/** `keys`, and the paths beside the models that they may use. */

export const limits = z.strictObject({
  requests_per_minute: z.int().positive().optional(),
  concurrent_runs: z.int().positive().optional(),
  tokens_per_day: z.int().positive().optional(),
  /** In `server.currency`, of whatever routes that have a price answer. */
  cost_per_day: z.number().positive().optional(),
  /** Of calls; what a run used counts in the minute in which it ends. */
  tokens_per_minute: z.int().positive().optional(),
  /** In 30 days from the first use on. */
  cost_per_month: z.number().positive().optional(),
});

/** All that a key may have. */
export const keyFields = z.strictObject({
  id: name,
  /** Whose items; the key's id where absent. */
  user: name.optional(),
  secret: credential.optional(),
  secret_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
    .transform((hex) => hex.toLowerCase())
    .optional(),
  /** From when on it is refused, in ISO 8601; absent: never. */
  expires_at: z.iso.datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' }).optional(),
  /** The networks that it may be used from; absent: all. */
  allow_from: z
    .array(z.string().refine(isNetwork, 'must be an IP address or a network such as 10.1.2.0/24'))
    .min(1, 'must name at least one network')
    .optional(),
  /** The team whose limits it is under beside its own. */
  team: name.optional(),
  /** What it is found by in lists. */
  tags: z.array(name).default([]),
  /** Models the key may use; absent: all. */
  models: z.array(z.string()).optional(),
  routes: z.record(z.string(), routes).default({}),
  provider_keys: z.record(z.string(), credential).default({}),
  limits: limits.prefault({}),
  mcp_servers: z.boolean().default(false),
  /** Whose grammar the responses of this key have, whatever the model says. */
  profile: profile.optional(),
  /** Who is told when background work of this key ends. */
  webhook: keyWebhook.optional(),
  /** Whether it may operate the gateway: everything under `/admin`. */
  admin: z.boolean().default(false),
  /** The passed-through paths that it may use. */
  passthrough: z
    .union([z.literal('all'), z.array(z.string().regex(/^\/v1\/./, 'must begin with /v1/'))], {
      error: 'must be all, or a list of paths such as [/v1/files]',
    })
    .default([]),
});

export const key = keyFields.refine((value) => (value.secret === undefined) !== (value.secret_sha256 === undefined), {
  path: ['secret'],
  error: 'give either secret or secret_sha256',
});

/** Paths that have endpoints of their own. */
const OWN_PATHS = ['/v1/responses', '/v1/async', '/v1/models', '/v1/chat/completions', '/v1/webhook_deliveries'];

/** An API that is passed as it comes to one provider (docs/configuration.md, "passthrough"). */
export const passthroughSetting = z.strictObject({
  path: z
    .string()
    .regex(/^\/v1(?:\/[A-Za-z0-9_.~-]+)+$/, 'must be a path under /v1 such as /v1/files')
    .refine((path) => !OWN_PATHS.some((own) => path === own || path.startsWith(`${own}/`)), {
      error: `must not be one of the gateway's own: ${OWN_PATHS.join(', ')}`,
    }),
  provider: name,
  websocket: z.boolean().default(false),
});
