import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

/**
 * The text that stands where a secret was. Redaction goes over the finished line, because secrets also turn up inside
 * messages, where redaction by key does not look.
 */
const REDACTED = '[redacted]';

/** Removes known secrets and anything that looks like a bearer credential from text. */
export class Redactor {
  #secrets: string[] = [];

  /** Sets the secrets to remove. Ones shorter than 6 characters are left out: they would blank ordinary words. */
  setSecrets(secrets: Iterable<string>): void {
    const known = new Set<string>();
    for (const secret of secrets) {
      if (secret.length < 6) continue;
      known.add(secret);
      known.add(JSON.stringify(secret).slice(1, -1));
    }
    this.#secrets = [...known].sort((a, b) => b.length - a.length);
  }

  redact(text: string): string {
    let clean = text;
    for (const secret of this.#secrets) if (clean.includes(secret)) clean = clean.replaceAll(secret, REDACTED);
    return clean.replace(/\b(Bearer\s+)[\w.~+/=-]{6,}/gi, `$1${REDACTED}`);
  }
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
  const destination = options.destination ?? pino.destination({ dest: 2, sync: false });
  const redacting: DestinationStream = redactor
    ? { write: (line: string) => destination.write(redactor.redact(line)) }
    : destination;
  return pino({ level: options.level ?? 'info', base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting);
}

/** A logger that writes nothing. */
export const silentLogger: Logger = pino({ level: 'silent' });
