import { z } from 'zod';
import { fieldError } from '../base/errors.ts';
import { parseJson } from '../base/json.ts';
import type { Sealer } from '../base/secrets/sealed.ts';
import type { Entry } from '../store/beside/entry-store.ts';
import { keyHash, type StoredKey } from './stored-key.ts';

/** Settings as they were checked when the key was made. */
const stored = z.record(z.string(), z.unknown());

/** A key as the store holds it. Fields that come after the first version are optional. */
const keyRecord = z.object({
  /** 2 where it has credentials: gateways that do not know them must not take the key without. */
  v: z.union([z.literal(1), z.literal(2)]),
  id: z.string(),
  settings: stored,
  hashes: z.array(keyHash).min(1),
  createdAt: z.number(),
  /** `provider_keys` and `webhook`, sealed with the operator's key. */
  credentials: z.string().optional(),
  encryption: z.string().optional(),
});

const ACTIVE = 'active';

/** What seals credentials: the operator's keys, none where `store.encryption_keys` is empty. */
export type KeySealer = Pick<Sealer, 'seal' | 'open'> | undefined;

/** @throws GatewayError `invalid_parameter` where it has credentials and nothing to seal them with. */
export async function entryOf({ locked, settings, ...key }: StoredKey, sealer: KeySealer): Promise<Entry> {
  const { provider_keys: own = {}, webhook, ...open } = settings;
  const secret = { ...(Object.keys(own).length > 0 && { provider_keys: own }), ...(webhook && { webhook }) };
  const [first] = Object.keys(secret);
  if (first !== undefined && !sealer) {
    const what =
      'credentials of keys in the store are encrypted: set store.encryption_keys, or keep the key in the configuration file.';
    throw fieldError('invalid_parameter', first, what);
  }
  const credentials = first === undefined ? locked : await sealer?.seal(JSON.stringify(secret), sealedFor(key.id));
  const v = credentials === undefined ? 1 : 2;
  const record: z.input<typeof keyRecord> = { v, ...key, hashes: [...key.hashes], settings: open, credentials };
  return { id: key.id, state: ACTIVE, value: JSON.stringify(record), createdAt: key.createdAt };
}

/** Undefined where this version cannot read it. */
export async function readKey({ value }: Entry, sealer: KeySealer): Promise<StoredKey | undefined> {
  const parsed = keyRecord.safeParse(parseJson(value));
  if (!parsed.success) return undefined;
  const { v: _, credentials, ...key } = parsed.data;
  if (credentials === undefined) return key;
  try {
    const text = await sealer?.open(credentials, { ...sealedFor(key.id), param: 'credentials' });
    const opened = stored.safeParse(parseJson(text ?? ''));
    if (opened.success) return { ...key, settings: { ...key.settings, ...opened.data } };
  } catch {
    // The key that sealed them is gone, or they were changed: told where the key is shown, and in the log.
  }
  return { ...key, locked: credentials };
}

function sealedFor(id: string) {
  return { user: id, kind: 'credentials' } as const;
}
