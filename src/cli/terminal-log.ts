import { isObject, parseJson } from '../base/json.ts';
import { oneLine } from './printable.ts';

const LEVELS: Readonly<Record<number, string>> = { 40: 'warning', 50: 'error', 60: 'fatal' };
/** Fields that every line has, or that the reader does not need. */
const HIDDEN_FIELDS = new Set(['level', 'time', 'msg', 'req', 'ip', 'route', 'pid', 'hostname']);
const MAX_VALUE = 300;

/**
 * Formats log lines for people: time, message and details on one line. Successful requests are left out: the console alone
 * sends one every few seconds.
 */
export function terminalLog(write: (text: string) => void): { write(lines: string): void } {
  return {
    write(lines) {
      for (const line of lines.split('\n')) {
        if (line === '') continue;
        const entry = parseJson(line);
        if (!isObject(entry)) write(`${oneLine(line)}\n`);
        else if (!isQuiet(entry)) write(`${formatEntry(entry)}\n`);
      }
    },
  };
}

function isQuiet({ msg, status, url }: Record<string, unknown>): boolean {
  return (
    (msg === 'request' && typeof status === 'number' && status < 400) ||
    (msg === 'listening' && url !== undefined) ||
    msg === 'a worker is listening'
  );
}

function formatEntry(entry: Record<string, unknown>): string {
  const level = typeof entry.level === 'number' ? LEVELS[entry.level] : undefined;
  const details = Object.entries(entry)
    .filter(([name]) => !HIDDEN_FIELDS.has(name))
    .map(([name, value]) => `${name}=${oneLine(formatValue(value)).slice(0, MAX_VALUE).toWellFormed()}`);
  const time = typeof entry.time === 'string' ? new Date(entry.time).toTimeString().slice(0, 8) : '';
  return [time, level && `${level}:`, oneLine(String(entry.msg ?? '')), ...details].filter(Boolean).join(' ');
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
