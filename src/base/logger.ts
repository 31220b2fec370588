import { type DestinationStream, type Logger, pino } from 'pino';

import { KnownTexts, SHORTEST } from './known-texts.ts';

export type { Logger };

/**
 * The text that stands where a secret was. Redaction goes over the finished line, because secrets also turn up inside
 * messages, where redaction by key does not look.
 */
export const REDACTED = '[redacted]';

/** Characters of log that are held back at most. */
const MAX_BATCH = 64 * 1024;
/** How long a line of level info is held back, in milliseconds. Others go out at the end of the turn. */
const HELD_MS = 10;
const INFO = '{"level":30,';

/** Removes known secrets and anything that looks like a bearer credential from text. */
export class Redactor {
  #secrets = new KnownTexts();
  #refreshed = new KnownTexts();

  /** Sets the secrets to remove. Ones shorter than 6 characters are left out: they would blank ordinary words. */
  setSecrets(secrets: Iterable<string>): void {
    this.#secrets = new KnownTexts();
    this.addSecrets(secrets);
  }

  /** Adds secrets to those that it removes. */
  addSecrets(secrets: Iterable<string>): void {
    addTo(this.#secrets, secrets);
  }

  /** Sets secrets that change while the process runs, beside the others: those of before are forgotten. */
  setRefreshed(secrets: Iterable<string>): void {
    this.#refreshed = new KnownTexts();
    addTo(this.#refreshed, secrets);
  }

  redact(text: string): string {
    const clean = this.#refreshed.replace(this.#secrets.replace(text, REDACTED), REDACTED);
    return clean.replace(/\b(Bearer\s+)[\w.~+/=-]{6,}/gi, `$1${REDACTED}`);
  }
}

function addTo(known: KnownTexts, secrets: Iterable<string>): void {
  for (const secret of secrets) {
    known.add(secret);
    if (secret.length < SHORTEST) continue;
    // As it stands in a line, and in a text of a line that quotes JSON.
    const quoted = inJson(secret);
    known.add(quoted);
    known.add(inJson(quoted));
  }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

export interface LoggerOptions {
  level?: string;
  redactor?: Redactor;
  /** Where lines go; standard error by default, so that standard output belongs to the command line. */
  destination?: DestinationStream;
}

/** A pino logger whose every line passes the redactor before it is written. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { redactor } = options;
  const stream = options.destination
    ? redacting(options.destination, redactor)
    : new LineBatches(redacting(pino.destination({ dest: 2, sync: false }), redactor));
  return pino({ level: options.level ?? 'info', base: null, timestamp: isoTimes() }, stream);
}

/** The time of a line in ISO 8601. Lines of one millisecond share it: to write a date takes almost as long as all else of a line. */
function isoTimes(): () => string {
  let at = Number.NaN;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== at) text = `,"time":"${new Date(now).toISOString()}"`;
    at = now;
    return text;
  };
}

function redacting(destination: DestinationStream, redactor: Redactor | undefined): DestinationStream {
  return redactor ? { write: (lines: string) => destination.write(redactor.redact(lines)) } : destination;
}

/** A logger that writes nothing. */
export const silentLogger: Logger = pino({ level: 'silent' });

/** Collects lines for a moment, to redact and write them together: a write is a system call in another thread. */
class LineBatches implements DestinationStream {
  readonly #destination: DestinationStream;
  #lines = '';
  #held: NodeJS.Timeout | undefined;

  constructor(destination: DestinationStream) {
    this.#destination = destination;
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length > MAX_BATCH) this.#flush();
    else if (line.startsWith(INFO)) this.#held ??= setTimeout(() => this.#flush(), HELD_MS);
    else setImmediate(() => this.#flush());
  }

  /** Called by pino after a fatal line: the process may not see another turn. */
  flushSync(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#held);
    this.#held = undefined;
    const lines = this.#lines;
    if (lines === '') return;
    this.#lines = '';
    this.#destination.write(lines);
  }
}
