const PREFIX = 'whsec_';
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const MIN_BYTES = 16;
const MAX_CHARACTERS = 256;

/** What a webhook's secret must look like, for error messages. */
export const WEBHOOK_SECRET_RULE = `must be whsec_ and the base64 of ${MIN_BYTES} bytes or more, or another text of ${MIN_BYTES} to ${MAX_CHARACTERS} characters`;

/**
 * The signing key of a webhook's secret: the base64 after `whsec_`, as in Standard Webhooks, or else the text itself, as
 * the official SDKs read it. Undefined if it is neither.
 */
export function webhookKey(secret: string): Buffer | undefined {
  if (secret.length > MAX_CHARACTERS) return undefined;
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : undefined;
  if (text !== undefined && !BASE64.test(text)) return undefined;
  const key = text === undefined ? Buffer.from(secret) : Buffer.from(text, 'base64');
  return key.length >= MIN_BYTES ? key : undefined;
}
