import { statSync } from 'node:fs';
import { isDamaged } from './failure.ts';

/**
 * Whether the database is still the one that was opened, and whole. A file that is deleted or replaced stays open: what
 * is written to it afterwards would be gone with the next restart, and nothing else would tell.
 */
export class DatabaseHealth {
  readonly #path: string | undefined;
  readonly #identity: string | undefined;
  #damage: string | undefined;

  /** `path` is undefined for a database in memory. */
  constructor(path: string | undefined) {
    this.#path = path;
    this.#identity = path === undefined ? undefined : identityOf(path);
  }

  /** Remembers a failure that says that the database is damaged. */
  note(thrown: unknown): void {
    if (thrown instanceof Error && isDamaged(thrown)) {
      this.#damage = 'pages of the database are damaged: stop the gateway and restore a backup';
    }
  }

  /** Why nothing new should be stored. */
  problem(): string | undefined {
    if (this.#damage !== undefined || this.#path === undefined) return this.#damage;
    const identity = identityOf(this.#path);
    if (identity === this.#identity) return undefined;
    const what = identity === undefined ? 'deleted' : 'replaced';
    return `runs.db was ${what} under the running gateway: put the former file back, or restart it to begin with what is there`;
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
