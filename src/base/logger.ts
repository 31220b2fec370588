import { type DestinationStream, type Logger, type LoggerOptions as PinoOptions, pino } from 'pino';

import { KnownTexts, MIN_LENGTH } from './secrets/known-texts.ts';

export type { Logger };

/**
 * What replaces a secret. Finished lines are redacted, because secrets also turn up inside messages, where redaction by
 * key does not look.
 */
export const REDACTED = '[redacted]';

/** How many characters of log may be buffered. */
const MAX_BATCH = 64 * 1024;
/** How long lines of level info are buffered, in milliseconds. Others are written at the end of the turn. */
const BUFFER_MS = 10;
const INFO = '{"level":30,';
/** Characters that wait for a slow reader of standard error; more are dropped. */
const MAX_WAITING = 64 * 1024 * 1024;
/** How many warnings and errors of one kind are written in a window: if a store is away, each run complains, again and again. */
const MAX_ALIKE = 50;
const WINDOW_MS = 10_000;
/** Kinds that are told apart in a window. */
const MAX_KINDS = 1000;
const WARN = 40;
const FATAL = 60;

/** Removes known secrets and anything that looks like a bearer credential from text. */
export class Redactor {
  #secrets = new KnownTexts();
  #refreshed = new KnownTexts();

  /** Sets the secrets to remove. Those shorter than 6 characters are left out: they would blank ordinary words. */
  setSecrets(secrets: Iterable<string>): void {
    this.#secrets = new KnownTexts();
    this.addSecrets(secrets);
  }

  addSecrets(secrets: Iterable<string>): void {
    addTo(this.#secrets, secrets);
  }

  /** Sets the secrets that change while the process runs, replacing the earlier ones and leaving the others in force. */
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
    if (secret.length < MIN_LENGTH) continue;
    // As JSON writes it in a line, and in a string of a line that quotes JSON.
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
  /** Where lines go; standard error by default, so that standard output is left to the commands. */
  destination?: DestinationStream;
}

/** Creates a pino logger whose lines all pass the redactor before they are written. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { redactor } = options;
  const stream = options.destination
    ? redacting(options.destination, redactor)
    : new LineBatches(redacting(pino.destination({ dest: 2, sync: false, maxLength: MAX_WAITING }), redactor));
  const hooks = { logMethod: boundedWarnings() };
  return pino({ level: options.level ?? 'info', base: null, timestamp: isoTimes(), hooks }, stream);
}

/** Leaves out warnings and errors beyond `MAX_ALIKE` of a kind, and says how many in the next window. */
function boundedWarnings(): NonNullable<NonNullable<PinoOptions['hooks']>['logMethod']> {
  let seen = new Map<string, number>();
  let since = Number.NEGATIVE_INFINITY;
  return function (args, log, level) {
    if (level < WARN) return log.apply(this, args);
    const now = performance.now();
    if (now - since >= WINDOW_MS) {
      const before = seen;
      seen = new Map();
      since = now;
      for (const [like, count] of before) {
        if (count > MAX_ALIKE) this.warn({ like, lines: count - MAX_ALIKE }, 'lines were left out');
      }
    }
    const [first, second = first]: readonly unknown[] = args;
    // What follows a colon differs from line to line.
    const kind = typeof second === 'string' ? second.split(':', 1)[0] : undefined;
    if (level < FATAL && kind !== undefined) {
      const like = seen.has(kind) || seen.size < MAX_KINDS ? kind : '';
      const count = (seen.get(like) ?? 0) + 1;
      seen.set(like, count);
      if (count > MAX_ALIKE) return;
    }
    log.apply(this, args);
  };
}

/** Formats times in ISO 8601. Lines of one millisecond share the text: formatting a date costs almost as much as the rest of a line. */
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

/** Buffers lines briefly, to redact and write them together: each write is a system call in another thread. */
class LineBatches implements DestinationStream {
  readonly #destination: DestinationStream;
  #lines = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(destination: DestinationStream) {
    this.#destination = destination;
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length > MAX_BATCH) this.#flush();
    else if (line.startsWith(INFO)) this.#timer ??= setTimeout(() => this.#flush(), BUFFER_MS);
    else setImmediate(() => this.#flush());
  }

  /** Called by pino after a fatal line, because the process may not reach another turn. */
  flushSync(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    if (lines === '') return;
    this.#lines = '';
    this.#destination.write(lines);
  }
}
