import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { lossOf, openGateway, refusalOf } from '../gateway-client.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';

/** `research-gateway keys ...` for keys in the store of a running gateway (docs/keys.md). */

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
type CallGateway = (method: 'get' | 'post' | 'delete', path: string, body?: object) => Promise<Record<string, unknown>>;

class Refusal extends Error {}

export function createKeyCommand(
  options: KeysOptions & { id?: string | undefined; user?: string | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const { id, user } = options;
  return withGateway(options, terminal, async (call) => {
    showSecret(await call('post', '/admin/keys', { ...(id && { id }), ...(user && { user }) }), terminal);
  });
}

export function listKeysCommand(options: KeysOptions, terminal: Terminal): Promise<ExitCode> {
  return withGateway(options, terminal, async (call) => {
    let after = '';
    for (;;) {
      const page = keyPage.parse(await call('get', `/admin/keys?limit=1000${after}`));
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
    showSecret(await call('post', path, { overlap_seconds: options.overlap }), terminal);
  });
}

export function revokeKeyCommand(options: KeysOptions & { id: string }, terminal: Terminal): Promise<ExitCode> {
  return withGateway(options, terminal, async (call) => {
    await call('delete', `/admin/keys/${encodeURIComponent(options.id)}`);
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

async function callGateway(options: KeysOptions, ...[method, path, body]: Parameters<CallGateway>) {
  const client = openGateway(options);
  // Repeated, a request whose answer was lost could make two keys.
  const request = { path: client.baseURL.replace(/\/v1$/, path), maxRetries: 0, ...(body && { body }) };
  try {
    return await client.request<Record<string, unknown>>({ method, ...request });
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    if (!refusal) throw new Error(lossOf(thrown), { cause: thrown });
    const isHidden = refusal.message.startsWith('There is nothing at this address');
    const hint = isHidden
      ? ' This takes a key with `admin: true`, and the admin port if server.admin_port is set.'
      : '';
    throw new Refusal(`the gateway refused: ${refusal.message}${hint}`);
  }
}
