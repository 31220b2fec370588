import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import { withoutTrailing } from '../../base/text.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';

/** `research-gateway keys ...` for keys in the store of a running gateway (docs/keys.md). */

/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 30_000;

const keyPage = z.object({
  data: z.array(
    z.object({ id: z.string(), source: z.string(), user: z.string().optional(), expires_at: z.string().optional() }),
  ),
  has_more: z.boolean(),
});

export interface KeysOptions {
  baseUrl: string;
  /** Of a key with `admin: true`. */
  apiKey: string;
}

/** Asks the gateway. @throws Error that says what went wrong. */
type Ask = (method: string, path: string, body?: object) => Promise<JsonObject>;

class Refusal extends Error {}

export function createKeyCommand(
  options: KeysOptions & { id?: string | undefined; user?: string | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const { id, user } = options;
  return asking(options, terminal, async (ask) => {
    showSecret(await ask('POST', '/admin/keys', { ...(id && { id }), ...(user && { user }) }), terminal);
  });
}

export function listKeysCommand(options: KeysOptions, terminal: Terminal): Promise<ExitCode> {
  return asking(options, terminal, async (ask) => {
    let after = '';
    for (;;) {
      const page = keyPage.parse(await ask('GET', `/admin/keys?limit=1000${after}`));
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
  return asking(options, terminal, async (ask) => {
    showSecret(await ask('POST', path, { overlap_seconds: options.overlap }), terminal);
  });
}

export function revokeKeyCommand(options: KeysOptions & { id: string }, terminal: Terminal): Promise<ExitCode> {
  return asking(options, terminal, async (ask) => {
    await ask('DELETE', `/admin/keys/${encodeURIComponent(options.id)}`);
    terminal.err(`The key ${printable(options.id)} is removed.\n`);
  });
}

function showSecret({ id, secret }: Record<string, unknown>, terminal: Terminal): void {
  terminal.err(`The key ${printable(String(id))}, shown only now:\n`);
  terminal.out(`${printable(String(secret))}\n`);
}

/** Does `work`, which asks a running gateway, and tells what went wrong. */
async function asking(options: KeysOptions, terminal: Terminal, work: (ask: Ask) => Promise<void>): Promise<ExitCode> {
  try {
    await work((...question) => askGateway(options, ...question));
    return EXIT.completed;
  } catch (thrown) {
    terminal.err(`error: ${printable(messageOf(thrown))}\n`);
    return thrown instanceof Refusal ? EXIT.refused : EXIT.connection;
  }
}

async function askGateway({ baseUrl, apiKey }: KeysOptions, ...[method, path, body]: Parameters<Ask>) {
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
