import { z } from 'zod';

/** Files in the format of OpenAI's API (docs/files.md). Times are Unix seconds. */

export const FILE_PURPOSES = ['user_data', 'assistants', 'vision'] as const;
export const filePurpose = z.enum(FILE_PURPOSES);

export const fileObject = z.object({
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: z.int(),
  expires_at: z.int().nullable(),
  filename: z.string(),
  purpose: filePurpose,
  status: z.literal('processed'),
});
export type FileObject = z.output<typeof fileObject>;

const HOUR = 3600;
/** The text fields of an upload form. The file itself is streamed. */
export const uploadFields = z.object({
  purpose: filePurpose,
  expires_after: z
    .object({
      anchor: z.literal('created_at'),
      seconds: z.coerce
        .number()
        .int()
        .min(HOUR)
        .max(30 * 24 * HOUR),
    })
    .optional(),
});
