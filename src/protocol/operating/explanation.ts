import { z } from 'zod';

/** `GET /admin/keys/:id/explain?model=`: what a key gets when it asks for a model. Nothing of it is secret. */
export const explanation = z.object({
  object: z.literal('explanation'),
  key: z.string(),
  user: z.string(),
  team: z.string().nullable(),
  model: z.string(),
  kind: z.enum(['research', 'proxy']),
  /** Whether the key may use the model. */
  allowed: z.boolean(),
  /** All models that it may use; null: all. */
  models: z.array(z.string()).nullable(),
  apis: z.array(z.string()),
  /** Whose routes they are. */
  routes_of: z.enum(['key', 'model']),
  /** In the order in which they are asked. */
  routes: z.array(
    z.object({
      provider: z.string(),
      model: z.string(),
      /** Null: built in. */
      url: z.string().nullable(),
      wire: z.string().nullable(),
      /** Where its credential comes from, in words. */
      credential: z.string(),
      /** Of a million tokens, in the configured currency. */
      price: z.object({ input: z.number(), output: z.number() }).nullable(),
      weight: z.number().nullable(),
      priority: z.number().nullable(),
    }),
  ),
  /** Of research models. */
  tools: z.array(z.string()).nullable(),
  /** Its own, then those of its team, whose names begin with `team `. */
  limits: z.array(z.object({ name: z.string(), value: z.number() })),
  /** From when on it is refused; null: never. */
  expires_at: z.string().nullable(),
  /** The networks that it may be used from; null: all. */
  allow_from: z.array(z.string()).nullable(),
  /** What else it may, in words. */
  may: z.array(z.string()),
  /** The host that hears of the end of its background work. */
  webhook: z.string().nullable(),
});
export type Explanation = z.output<typeof explanation>;

export const explainQuery = z.object({ model: z.string() });

/** `GET /admin/config`: the configuration that holds now; texts that may be secret are masked. */
export const configObject = z.object({ object: z.literal('config'), config: z.looseObject({}) });
