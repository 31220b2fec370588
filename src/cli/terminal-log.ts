import { isObject, parseJson } from '../base/json.ts';
import { oneLine } from './printable.ts';

const LEVELS: Readonly<Record<number, string>> = { 40: 'warning', 50: 'error', 60: 'fatal' };
/** Said by the start screen, or in every line. */
const LEFT_OUT = new Set(['level', 'time', 'msg', 'req', 'ip', 'route', 'pid', 'hostname']);
const LONGEST_VALUE = 300;

/**
 * Log lines for eyes: time, message and what belongs to it on one line. Requests that went well are left out; the
 * console alone sends one every few seconds.
 */
export function terminalLog(write: (text: string) => void): { write(lines: string): void } {
  return {
    write(lines) {
      for (const line of lines.split('\n')) {
        if (line === '') continue;
        const entry = parseJson(line);
        if (!isObject(entry)) write(`${oneLine(line)}\n`);
        else if (!isQuiet(entry)) write(`${readable(entry)}\n`);
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

function readable(entry: Record<string, unknown>): string {
  const level = typeof entry.level === 'number' ? LEVELS[entry.level] : undefined;
  const details = Object.entries(entry)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => `${name}=${oneLine(shown(value)).slice(0, LONGEST_VALUE)}`);
  const time = typeof entry.time === 'string' ? new Date(entry.time).toTimeString().slice(0, 8) : '';
  return [time, level && `${level}:`, oneLine(String(entry.msg ?? '')), ...details].filter(Boolean).join(' ');
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
