import { z } from 'zod';

/** `GET /admin/keys/:id/explain?model=`: what a key gets when it calls a model, without secrets. */
export const explanation = z.object({
  object: z.literal('explanation'),
  key: z.string(),
  user: z.string(),
  team: z.string().nullable(),
  model: z.string(),
  kind: z.enum(['research', 'proxy']),
  /** Whether the key may use the model. */
  allowed: z.boolean(),
  /** The models that the key may use; null: all. */
  models: z.array(z.string()).nullable(),
  apis: z.array(z.string()),
  /** Where the routes are configured. */
  routes_of: z.enum(['key', 'model']),
  /** In the order in which they are tried. */
  routes: z.array(
    z.object({
      provider: z.string(),
      model: z.string(),
      /** Null for a built-in provider. */
      url: z.string().nullable(),
      wire: z.string().nullable(),
      /** The origin of the credential, in words. */
      credential: z.string(),
      /** Per million tokens, in the configured currency. */
      price: z.object({ input: z.number(), output: z.number() }).nullable(),
      weight: z.number().nullable(),
      priority: z.number().nullable(),
    }),
  ),
  /** Research models only. */
  tools: z.array(z.string()).nullable(),
  /** The key's own limits, then those of its team, whose names begin with `team `. */
  limits: z.array(z.object({ name: z.string(), value: z.number() })),
  /** When the key expires; null: never. */
  expires_at: z.string().nullable(),
  /** The networks from which the key may be used; null: all. */
  allow_from: z.array(z.string()).nullable(),
  /** Further permissions, in words. */
  may: z.array(z.string()),
  /** The host of the webhook for the end of background work. */
  webhook: z.string().nullable(),
});
export type Explanation = z.output<typeof explanation>;

export const explainQuery = z.object({ model: z.string() });

/** `GET /admin/config`: the configuration in force, with texts that may be secret masked. */
export const configObject = z.object({ object: z.literal('config'), config: z.looseObject({}) });
