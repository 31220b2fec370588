import { z } from 'zod';
import { fieldError } from '../base/errors.ts';
import { parseJson } from '../base/json.ts';
import type { Sealer } from '../base/secrets/sealed.ts';
import type { Entry } from '../store/side-stores/entry-store.ts';
import { keyHash, type StoredKey } from './stored-key.ts';

/** Settings, which were validated when the key was created. */
const stored = z.record(z.string(), z.unknown());

/** A key as the store holds it. Fields added after the first version are optional. */
const keyRecord = z.object({
  /** 2 if it has credentials: gateways that do not know them must not accept the key without them. */
  v: z.union([z.literal(1), z.literal(2)]),
  id: z.string(),
  settings: stored,
  hashes: z.array(keyHash).min(1),
  createdAt: z.number(),
  /** `provider_keys` and `webhook`, encrypted with the operator's key. */
  credentials: z.string().optional(),
  encryption: z.string().optional(),
});

const ACTIVE = 'active';

/** Encrypts credentials with the operator's keys; undefined if `store.encryption_keys` is empty. */
export type KeySealer = Pick<Sealer, 'seal' | 'open'> | undefined;

/** The stored form of a key. @throws GatewayError `invalid_parameter` if it has credentials and nothing encrypts them. */
export async function entryOf({ locked, settings, ...key }: StoredKey, sealer: KeySealer): Promise<Entry> {
  const { provider_keys: own = {}, webhook, ...plain } = settings;
  const secret = { ...(Object.keys(own).length > 0 && { provider_keys: own }), ...(webhook && { webhook }) };
  const [first] = Object.keys(secret);
  if (first !== undefined && !sealer) {
    const what =
      'credentials of keys in the store are encrypted: set store.encryption_keys, or keep the key in the configuration file.';
    throw fieldError('invalid_parameter', first, what);
  }
  const credentials = first === undefined ? locked : await sealer?.seal(JSON.stringify(secret), sealContext(key.id));
  const v = credentials === undefined ? 1 : 2;
  const record: z.input<typeof keyRecord> = { v, ...key, hashes: [...key.hashes], settings: plain, credentials };
  return { id: key.id, state: ACTIVE, value: JSON.stringify(record), createdAt: key.createdAt };
}

/** Reads a stored key; undefined if this version cannot. */
export async function readKey({ value }: Entry, sealer: KeySealer): Promise<StoredKey | undefined> {
  const parsed = keyRecord.safeParse(parseJson(value));
  if (!parsed.success) return undefined;
  const { v: _, credentials, ...key } = parsed.data;
  if (credentials === undefined) return key;
  try {
    const text = await sealer?.open(credentials, { ...sealContext(key.id), param: 'credentials' });
    const decrypted = stored.safeParse(parseJson(text ?? ''));
    if (decrypted.success) return { ...key, settings: { ...key.settings, ...decrypted.data } };
  } catch {
    // The encryption key is gone, or the data was changed: `locked` makes the API and the log say so.
  }
  return { ...key, locked: credentials };
}

function sealContext(id: string) {
  return { user: id, kind: 'credentials' } as const;
}
