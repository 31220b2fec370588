import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import { withoutTrailing } from '../../base/text.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';

/** `research-gateway keys ...` for keys in the store of a running gateway (docs/keys.md). */

/** How long an answer may take, in milliseconds. */
const ANSWER_MS = 30_000;

const keyPage = z.object({
  data: z.array(
    z.object({ id: z.string(), source: z.string(), user: z.string().optional(), expires_at: z.string().optional() }),
  ),
  has_more: z.boolean(),
});

export interface KeysOptions {
  baseUrl: string;
  /** The secret of a key with `admin: true`. */
  apiKey: string;
}

/** Calls the gateway. @throws Error that says what went wrong. */
type CallGateway = (method: string, path: string, body?: object) => Promise<JsonObject>;

class Refusal extends Error {}

export function createKeyCommand(
  options: KeysOptions & { id?: string | undefined; user?: string | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const { id, user } = options;
  return withGateway(options, terminal, async (call) => {
    showSecret(await call('POST', '/admin/keys', { ...(id && { id }), ...(user && { user }) }), terminal);
  });
}

export function listKeysCommand(options: KeysOptions, terminal: Terminal): Promise<ExitCode> {
  return withGateway(options, terminal, async (call) => {
    let after = '';
    for (;;) {
      const page = keyPage.parse(await call('GET', `/admin/keys?limit=1000${after}`));
      for (const { id, source, user = id, expires_at: expires } of page.data) {
        const ends = expires ? `  until ${expires}` : '';
        terminal.out(`${printable(`${id}  (${source}, user ${user})${ends}`)}\n`);
      }
      const last = page.data.at(-1)?.id;
      if (!page.has_more || last === undefined) return;
      after = `&after=${encodeURIComponent(last)}`;
    }
  });
}

export function rotateKeyCommand(
  options: KeysOptions & { id: string; overlap: number },
  terminal: Terminal,
): Promise<ExitCode> {
  const path = `/admin/keys/${encodeURIComponent(options.id)}/rotate`;
  return withGateway(options, terminal, async (call) => {
    showSecret(await call('POST', path, { overlap_seconds: options.overlap }), terminal);
  });
}

export function revokeKeyCommand(options: KeysOptions & { id: string }, terminal: Terminal): Promise<ExitCode> {
  return withGateway(options, terminal, async (call) => {
    await call('DELETE', `/admin/keys/${encodeURIComponent(options.id)}`);
    terminal.err(`The key ${printable(options.id)} is removed.\n`);
  });
}

function showSecret({ id, secret }: Record<string, unknown>, terminal: Terminal): void {
  terminal.err(`The key ${printable(String(id))}, shown only now:\n`);
  terminal.out(`${printable(String(secret))}\n`);
}

/** Runs `work`, which calls a running gateway, and prints its error. */
async function withGateway(
  options: KeysOptions,
  terminal: Terminal,
  work: (call: CallGateway) => Promise<void>,
): Promise<ExitCode> {
  try {
    await work((...args) => callGateway(options, ...args));
    return EXIT.completed;
  } catch (thrown) {
    terminal.err(`error: ${printable(messageOf(thrown))}\n`);
    return thrown instanceof Refusal ? EXIT.refused : EXIT.connection;
  }
}

async function callGateway({ baseUrl, apiKey }: KeysOptions, ...[method, path, body]: Parameters<CallGateway>) {
  const url = withoutTrailing(baseUrl, '/').replace(/\/v1$/, '');
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch((cause: unknown) => {
    throw new Error(`${url} cannot be reached: ${messageOf(cause)}`, { cause });
  });
  const parsed = parseJson(await answer.text());
  if (answer.ok && isObject(parsed)) return parsed;
  const error = isObject(parsed) && isObject(parsed.error) ? String(parsed.error.message) : `status ${answer.status}`;
  const hint = answer.status === 404 && method !== 'DELETE' ? ' This takes a key with `admin: true`.' : '';
  throw new Refusal(`the gateway refused: ${error}${hint}`);
}
