import { z } from 'zod';
import { size } from '../units.ts';
import { credential, httpUrl } from './values.ts';

const FOLDER = /^file:(?!\/\/[^/]).+$/;
const BUCKET = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[\w-][\w.-]*)*\/?$/;

/** `files` (docs/files.md): what users upload. */
export const files = z
  .strictObject({
    enabled: z.boolean().default(true),
    /** Where their bytes lie; absent: beside a `file:` store, else in `./data/files`. */
    url: z
      .string()
      .refine((url) => FOLDER.test(url) || BUCKET.test(url), 'must be file:<folder> or s3://<bucket>/<prefix>')
      .optional(),
    /** The address of a store that speaks S3; absent: Amazon's in the region. */
    endpoint: httpUrl.refine((url) => !/[?#]/.test(url), 'must not have a query').optional(),
    /** As the store names it; absent: `us-east-1`, which most other stores take. */
    region: z
      .string()
      .regex(/^[\w-]{1,64}$/, 'must be letters, digits, - or _')
      .optional(),
    access_key_id: credential.optional(),
    secret_access_key: credential.optional(),
    /** Where the indexes of vector stores lie, on a disk of this machine; absent: beside the store, else in `./data`. */
    index_folder: z.string().min(1).optional(),
    /** Of one file. */
    max_bytes: size.prefault('64mb'),
    /** Of all files of a user. */
    per_user_bytes: size.prefault('10gb'),
  })
  .transform(({ max_bytes: maxBytes, per_user_bytes: perUserBytes, ...rest }) => ({ ...rest, maxBytes, perUserBytes }));
