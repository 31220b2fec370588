import { z } from 'zod';
import { isNetwork } from '../../base/networks.ts';
import { profile } from './models.ts';
import { routes } from './providers.ts';
import { credential, name } from './values.ts';
import { keyWebhook } from './webhooks.ts';

/** `keys`, and the passed-through paths that they may use. */

export const limits = z.strictObject({
  requests_per_minute: z.int().positive().optional(),
  concurrent_runs: z.int().positive().optional(),
  tokens_per_day: z.int().positive().optional(),
  /** In `server.currency`, for answers of routes that have a price. */
  cost_per_day: z.number().positive().optional(),
  /** The tokens of a run count in the minute in which it ends. */
  tokens_per_minute: z.int().positive().optional(),
  /** In `server.currency`, in the 30 days from the first use. */
  cost_per_month: z.number().positive().optional(),
});

/** All settings of a key. */
export const keyFields = z.strictObject({
  id: name,
  /** The owner of what the key creates. Default: the key's id. */
  user: name.optional(),
  secret: credential.optional(),
  secret_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
    .transform((hex) => hex.toLowerCase())
    .optional(),
  /** When the key expires, in ISO 8601. Default: never. */
  expires_at: z.iso.datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' }).optional(),
  /** The networks from which the key may be used. Default: all. */
  allow_from: z
    .array(z.string().refine(isNetwork, 'must be an IP address or a network such as 10.1.2.0/24'))
    .min(1, 'must name at least one network')
    .optional(),
  /** The team whose limits apply in addition to the key's own. */
  team: name.optional(),
  /** Labels for lists and usage. */
  tags: z.array(name).default([]),
  /** Models that the key may use. Default: all. */
  models: z.array(z.string()).optional(),
  routes: z.record(z.string(), routes).default({}),
  provider_keys: z.record(z.string(), credential).default({}),
  limits: limits.prefault({}),
  mcp_servers: z.boolean().default(false),
  /** The profile of the key's responses, which overrides that of the model. */
  profile: profile.optional(),
  /** Receiver of a notification when background work of this key ends. */
  webhook: keyWebhook.optional(),
  /** Whether the key may operate the gateway: everything under `/admin`. */
  admin: z.boolean().default(false),
  /** The passed-through paths that the key may use. */
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

/** Paths of the gateway's own endpoints. */
const OWN_PATHS = [
  '/v1/responses',
  '/v1/async',
  '/v1/conversations',
  '/v1/models',
  '/v1/chat/completions',
  '/v1/webhook_deliveries',
];

/** Whether only the gateway itself serves this path. */
export function isOwnPath(path: string): boolean {
  return OWN_PATHS.some((own) => path === own || path.startsWith(`${own}/`));
}

/** An API that is passed through to one provider unchanged (docs/configuration.md, "passthrough"). */
export const passthroughSetting = z.strictObject({
  path: z
    .string()
    .regex(/^\/v1(?:\/[A-Za-z0-9_.~-]+)+$/, 'must be a path under /v1 such as /v1/files')
    .refine((path) => !isOwnPath(path), {
      error: `must not be one of the gateway's own: ${OWN_PATHS.join(', ')}`,
    }),
  provider: name,
  websocket: z.boolean().default(false),
});
