import { once } from 'node:events';
import { statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { messageOf } from '../../base/errors.ts';
import type { GatewayConfig } from '../../config/schema.ts';
import type { Finding } from './finding.ts';

const GB = 1024 ** 3;
/** Free space below which a gateway cannot work, and below which an operator should know, in bytes. */
const MIN_SPACE = GB / 10;
const LOW_SPACE = GB;
/** How long to wait for an answer from whatever uses a port, in milliseconds. */
const PROBE_MS = 2000;

/** Whether the ports are free, or a gateway listens on them already. */
export async function portFindings({ host, port, admin_port: admin }: GatewayConfig['server']): Promise<Finding[]> {
  const ports = [
    { about: 'port', port, setting: 'PORT, or server.port' },
    ...(admin === undefined ? [] : [{ about: 'admin port', port: admin, setting: 'server.admin_port' }]),
  ];
  const isGateway =
    ports.some(({ port: n }) => n !== 0) &&
    (await Promise.all(ports.map((entry) => answersAt(host, entry.port)))).includes(true);
  return await Promise.all(
    ports.map(async ({ about, port: number, setting }): Promise<Finding> => {
      const place = `${host}:${number}`;
      const code = await listenError(host, number);
      if (code === undefined) return { state: 'ok', about, detail: number === 0 ? 'any' : `${place} is free` };
      if (code === 'EADDRINUSE') {
        if (isGateway) return { state: 'ok', about, detail: `a gateway runs at ${place}` };
        return { state: 'wrong', about, detail: `${place} is in use`, fix: `end what uses it, or set ${setting}` };
      }
      const fix = code === 'EACCES' ? `set ${setting} to a number above 1023` : 'set HOST, or server.host';
      return { state: 'wrong', about, detail: `${place} cannot be listened on (${code})`, fix };
    }),
  );
}

/** The system's error code for listening on an address; undefined if that works. */
async function listenError(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : messageOf(thrown);
  } finally {
    server.close();
  }
}

async function answersAt(host: string, port: number): Promise<boolean> {
  if (port === 0) return false;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  try {
    const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}/healthz`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
    return (await answer.text()) === '{"status":"ok"}';
  } catch {
    return false;
  }
}

/** The free space on the disk of an existing folder. */
export async function diskFinding(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  return spaceFinding(folder, bavail * bsize);
}

/** Judges the free space of a folder's disk. `free`: in bytes. */
export function spaceFinding(folder: string, free: number): Finding {
  const detail = `${(free / GB).toFixed(1)} GB are free for ${folder}`;
  if (free >= LOW_SPACE) return { state: 'ok', about: 'disk', detail };
  const fix = 'free some, or lower store.retention_hours';
  return { state: free < MIN_SPACE ? 'wrong' : 'note', about: 'disk', detail, fix };
}
