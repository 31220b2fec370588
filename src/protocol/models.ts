import { z } from 'zod';

/** An entry of `GET /v1/models` (docs/api.md, "Models and the rest"). */
export const modelObject = z.object({
  id: z.string(),
  object: z.literal('model'),
  /** Unix seconds. */
  created: z.int(),
  owned_by: z.string(),
  context_length: z.int().positive(),
  max_completion_tokens: z.int().positive(),
  supported_apis: z.array(z.string()),
});

export const modelList = z.object({ object: z.literal('list'), data: z.array(modelObject) });

export type ModelObject = z.output<typeof modelObject>;
