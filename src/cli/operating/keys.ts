import { z } from 'zod';
import type { ExitCode } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { AdminClient } from './admin-client.ts';

/** `research-gateway keys ...` for keys in the store of a running gateway (docs/keys.md). */

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

export function createKeyCommand(
  options: KeysOptions & { id?: string | undefined; user?: string | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const { id, user } = options;
  return new AdminClient(options, terminal).run(async (client) => {
    const key = await client.ask('POST', '/admin/keys', { ...(id && { id }), ...(user && { user }) });
    showSecret(key, terminal);
  });
}

export function listKeysCommand(options: KeysOptions, terminal: Terminal): Promise<ExitCode> {
  return new AdminClient(options, terminal).run(async (client) => {
    let after = '';
    for (;;) {
      const page = keyPage.parse(await client.ask('GET', `/admin/keys?limit=1000${after}`));
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
  const { id, overlap } = options;
  return new AdminClient(options, terminal).run(async (client) => {
    const path = `/admin/keys/${encodeURIComponent(id)}/rotate`;
    showSecret(await client.ask('POST', path, { overlap_seconds: overlap }), terminal);
  });
}

export function revokeKeyCommand(options: KeysOptions & { id: string }, terminal: Terminal): Promise<ExitCode> {
  return new AdminClient(options, terminal).run(async (client) => {
    await client.ask('DELETE', `/admin/keys/${encodeURIComponent(options.id)}`);
    terminal.err(`The key ${printable(options.id)} is removed.\n`);
  });
}

function showSecret({ id, secret }: Record<string, unknown>, terminal: Terminal): void {
  terminal.err(`The key ${printable(String(id))}, shown only now:\n`);
  terminal.out(`${printable(String(secret))}\n`);
}
