import { counted } from '../base/text.ts';
import { acceptedDefaultKey } from '../config/keyring.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { oneLine } from './printable.ts';

/** Width of the labels, in columns. */
const LABEL_WIDTH = 11;
const MAX_NAMES = 6;

/** What is shown when a gateway starts in a terminal: its addresses, the key to use, and where runs are stored. */
export function startScreen({ config, file, url }: { config: GatewayConfig; file: string; url: string }): string {
  const { server, models, store } = config;
  const console = consoleAddress(config, url);
  const rows = [
    ['Console', console],
    ['API', `${url}/v1`],
    ['Key', keyToUse(config)],
    ['Models', listed(Object.keys(models))],
    ['Runs', `${storedIn(store.url)} for ${hours(store.retentionMs / 3_600_000)}`],
    ['Settings', file],
    ...(server.admin_port === undefined ? [] : [['Health', `port ${server.admin_port}`]]),
  ];
  const lines = rows.map(([label, value]) => `  ${String(label).padEnd(LABEL_WIDTH)}${oneLine(String(value))}`);
  return `\nThe gateway runs. Ctrl-C stops it.\n\n${lines.join('\n')}\n\n`;
}

/** The console is served next to health and metrics: on the admin port, if there is one. */
function consoleAddress({ server }: GatewayConfig, url: string): string {
  if (server.admin_port === undefined) return url;
  const address = new URL(url);
  address.port = String(server.admin_port);
  return address.origin;
}

/** The default key, which is no secret; of other keys only the ids. */
function keyToUse(config: GatewayConfig): string {
  const defaultKey = acceptedDefaultKey(config);
  if (defaultKey !== undefined)
    return `${defaultKey} (accepted from this machine only; set GATEWAY_API_KEY to use another)`;
  return `one of those configured for ${listed(config.keys.map(({ id }) => id))}`;
}

function listed(names: readonly string[]): string {
  const hidden = names.length - MAX_NAMES;
  return hidden > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${hidden} more` : names.join(', ');
}

function storedIn(url: string): string {
  if (url.startsWith('memory:')) return 'in memory, until the gateway stops, at most';
  if (url.startsWith('file:')) return `in ${url.slice('file:'.length)} (SQLite)`;
  // The URL may hold a password.
  return `in ${url.replace(/:\/\/[^/]*@/, '://')}`;
}

function hours(number: number): string {
  const days = number / 24;
  if (days >= 2 && Number.isInteger(days)) return counted(days, 'day');
  return counted(Math.round(number * 10) / 10, 'hour');
}
