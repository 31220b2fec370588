import { z } from 'zod';
import { size } from '../units.ts';
import { credential, httpUrl } from './values.ts';

const FOLDER = /^file:(?!\/\/[^/]).+$/;
const BUCKET = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[\w-][\w.-]*)*\/?$/;

/** `files` (docs/files.md): the storage of uploaded files. */
export const files = z
  .strictObject({
    enabled: z.boolean().default(true),
    /** Where the bytes are stored. Default: beside a `file:` store, else in `./data/files`. */
    url: z
      .string()
      .refine((url) => FOLDER.test(url) || BUCKET.test(url), 'must be file:<folder> or s3://<bucket>/<prefix>')
      .optional(),
    /** The address of an S3-compatible service. Default: Amazon's in the region. */
    endpoint: httpUrl.refine((url) => !/[?#]/.test(url), 'must not have a query').optional(),
    /** The region. Default: `us-east-1`, which most other services accept. */
    region: z
      .string()
      .regex(/^[\w-]{1,64}$/, 'must be letters, digits, - or _')
      .optional(),
    access_key_id: credential.optional(),
    secret_access_key: credential.optional(),
    /** A local folder for the indexes of vector stores. Default: beside the store, else in `./data`. */
    index_folder: z.string().min(1).optional(),
    /** The largest file. */
    max_bytes: size.prefault('64mb'),
    /** The total size of a user's files. */
    per_user_bytes: size.prefault('10gb'),
  })
  .transform(({ max_bytes: maxBytes, per_user_bytes: perUserBytes, ...rest }) => ({ ...rest, maxBytes, perUserBytes }));
