import { z } from 'zod';
import { size } from '../units.ts';

/** `files` (docs/files.md): what users upload. */
export const files = z
  .strictObject({
    enabled: z.boolean().default(true),
    /** Where their bytes lie; absent: beside a `file:` store, else in `./data/files`. */
    url: z
      .string()
      .regex(/^file:(?!\/\/[^/]).+$/, 'must be file:<folder>')
      .optional(),
    /** Where the indexes of vector stores lie, on a disk of this machine; absent: beside the store, else in `./data`. */
    index_folder: z.string().min(1).optional(),
    /** Of one file. */
    max_bytes: size.prefault('64mb'),
    /** Of all files of a user. */
    per_user_bytes: size.prefault('10gb'),
  })
  .transform(({ max_bytes: maxBytes, per_user_bytes: perUserBytes, ...rest }) => ({ ...rest, maxBytes, perUserBytes }));
