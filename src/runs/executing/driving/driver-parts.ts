import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import type { CredentialCipher } from '../../../base/secrets/encrypt.ts';
import type { LiveConfig } from '../../../config/live-config.ts';
import type { SealedContents } from '../../../plain/sealed-contents.ts';
import type { SchemaChecker } from '../../../research/answer/schema/schema-job.ts';
import type { Prompts } from '../../../research/prompts/load-prompts.ts';
import type { FileSearch } from '../../../research/run/request.ts';
import type { ObservedToolCall } from '../../../research/run/run.ts';
import type { OpenedTools, ToolRequest } from '../../../tools/toolbox.ts';
import type { Upstream } from '../../../upstream/upstream.ts';
import type { RunDriver } from './run-driver.ts';

/** The options for opening the tools of a run. */
interface RunToolRequest extends Omit<ToolRequest, 'runTools' | 'readFile'> {
  /** Where `file_search` searches, if it is among the built-in tools. */
  fileSearch?: FileSearch | undefined;
  /** The user whose files may be read. */
  user: string;
}

/** The parts that a driver needs, given by the composition root. */
export interface DriverParts {
  config: Pick<LiveConfig, 'current' | 'keyById'>;
  prompts: Prompts;
  schemas: SchemaChecker;
  clock: Clock;
  /** A monotonic clock for durations; defaults to the process's own. */
  monotonicClock?: Clock;
  log: Logger;
  chatModel: Upstream['chatModel'];
  openTools(request: RunToolRequest): Promise<OpenedTools>;
  proxy: RunDriver['proxy'];
  /** Encrypts the reasoning and the summaries that clients keep and send back. */
  sealed: SealedContents;
  cipherOf(keyId: string): CredentialCipher | undefined;
  onToolCall?(call: ObservedToolCall): void;
}
