import type { Clock } from '../../../base/clock.ts';
import type { ErrorCode } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { CredentialCipher } from '../../../base/secrets/encrypt.ts';
import type { LiveConfig } from '../../../config/live-config.ts';
import type { SealedContents } from '../../../plain/sealed-contents.ts';
import type { SchemaChecker } from '../../../research/answer/schema/schema-job.ts';
import type { Prompts } from '../../../research/prompts/load-prompts.ts';
import type { FileSearch } from '../../../research/run/request.ts';
import type { TerminalStatus } from '../../../store/run-store.ts';
import type { OpenedTools, ToolRequest } from '../../../tools/toolbox.ts';
import type { Upstream } from '../../../upstream/upstream.ts';
import type { RunMetrics } from '../../metrics.ts';
import type { AdmittedRun, EndedRun } from '../../runs.ts';
import type { RunDriver } from './run-driver.ts';

/** What the tools of a run are opened with. */
interface RunToolRequest extends Omit<ToolRequest, 'own' | 'readFile'> {
  /** Where `file_search` searches, if it is among the built-in tools. */
  fileSearch?: FileSearch | undefined;
  /** Whose files may be read. */
  user: string;
}

/** What the driver is made of: the parts of the floors below, given by the composition root. */
export interface DriverParts {
  config: Pick<LiveConfig, 'current' | 'keyById'>;
  prompts: Prompts;
  schemas: SchemaChecker;
  clock: Clock;
  /** For spans of time; one that nothing corrects where absent. */
  steady?: Clock;
  log: Logger;
  chatModel: Upstream['chatModel'];
  openTools(request: RunToolRequest): Promise<OpenedTools>;
  proxy: RunDriver['proxy'];
  /** Makes what clients keep of thoughts, and of threads that were summed up. */
  sealed: SealedContents;
  cipherOf(keyId: string): CredentialCipher | undefined;
  metrics?: Pick<RunMetrics, 'left' | 'toolCall' | 'cost'>;
  /** Awaited before a run goes on that did not begin where it was submitted. */
  begins?(run: AdmittedRun): Promise<void>;
  /** Called with what a run has used so far, before what follows from it is stored. */
  used?(run: EndedRun): void;
  /** Called for every run that this instance ended. */
  ended?(
    run: EndedRun & {
      model: string;
      tag: string | undefined;
      status: TerminalStatus;
      error: ErrorCode | undefined;
      /** Receivers are told. */
      tells: boolean;
    },
  ): void;
}
