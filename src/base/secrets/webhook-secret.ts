const PREFIX = 'whsec_';
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const FEWEST_BYTES = 16;
const MOST_CHARACTERS = 256;

/** What a webhook's secret has to be, for messages. */
export const WEBHOOK_SECRET_RULE = `must be whsec_ and the base64 of ${FEWEST_BYTES} bytes or more, or another text of ${FEWEST_BYTES} to ${MOST_CHARACTERS} characters`;

/**
 * The key that a webhook's secret stands for: what is in base64 behind `whsec_`, as Standard Webhooks writes it, else the
 * text itself, as the official SDKs read it. Undefined where it is neither.
 */
export function webhookKey(secret: string): Buffer | undefined {
  if (secret.length > MOST_CHARACTERS) return undefined;
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : undefined;
  if (text !== undefined && !BASE64.test(text)) return undefined;
  const key = text === undefined ? Buffer.from(secret) : Buffer.from(text, 'base64');
  return key.length >= FEWEST_BYTES ? key : undefined;
}
