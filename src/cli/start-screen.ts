import { acceptedDefaultKey } from '../config/keyring.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { oneLine } from './printable.ts';

/** What stands in front of the values, in columns. */
const LABEL = 11;
const NAMES = 6;

/** What somebody who started a gateway in a terminal wants to know: where it is, what to use, where runs are kept. */
export function startScreen({ config, file, url }: { config: GatewayConfig; file: string; url: string }): string {
  const { server, models, store } = config;
  const console = consoleAddress(config, url);
  const rows = [
    ['Console', console],
    ['API', `${url}/v1`],
    ['Key', keyToUse(config)],
    ['Models', listed(Object.keys(models))],
    ['Runs', `${keptIn(store.url)} for ${hours(store.retentionMs / 3_600_000)}`],
    ['Settings', file],
    ...(server.admin_port === undefined ? [] : [['Health', `port ${server.admin_port}`]]),
  ];
  const lines = rows.map(([label, value]) => `  ${String(label).padEnd(LABEL)}${oneLine(String(value))}`);
  return `\nThe gateway runs. Ctrl-C stops it.\n\n${lines.join('\n')}\n\n`;
}

/** The console stands beside health and metrics, on the second port where there is one. */
function consoleAddress({ server }: GatewayConfig, url: string): string {
  if (server.admin_port === undefined) return url;
  const address = new URL(url);
  address.port = String(server.admin_port);
  return address.origin;
}

/** The well-known key, which is no secret; of others only their names. */
function keyToUse(config: GatewayConfig): string {
  const open = acceptedDefaultKey(config);
  if (open !== undefined) return `${open} (accepted from this machine only; set GATEWAY_API_KEY to use another)`;
  return `one of those configured for ${listed(config.keys.map(({ id }) => id))}`;
}

function listed(names: readonly string[]): string {
  const rest = names.length - NAMES;
  return rest > 0 ? `${names.slice(0, NAMES).join(', ')} and ${rest} more` : names.join(', ');
}

function keptIn(url: string): string {
  if (url.startsWith('memory:')) return 'in memory, until the gateway stops, at most';
  if (url.startsWith('file:')) return `in ${url.slice('file:'.length)} (SQLite)`;
  // An address may hold a password.
  return `in ${url.replace(/:\/\/[^/]*@/, '://')}`;
}

function hours(count: number): string {
  const days = count / 24;
  if (days >= 2 && Number.isInteger(days)) return `${days} days`;
  return `${Math.round(count * 10) / 10} hours`;
}
