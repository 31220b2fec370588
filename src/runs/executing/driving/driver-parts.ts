import type { Clock } from '../../../base/clock.ts';
import type { ErrorCode } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { CredentialCipher } from '../../../base/secrets/encrypt.ts';
import type { LiveConfig } from '../../../config/live-config.ts';
import type { KeyConfig, ModelConfig, RouteConfig } from '../../../config/schema.ts';
import type { SealedContents } from '../../../plain/sealed-contents.ts';
import type { Warning } from '../../../protocol/warnings.ts';
import type { SchemaChecker } from '../../../research/answer/schema/schema-job.ts';
import type { Prompts } from '../../../research/prompts/load-prompts.ts';
import type { FileSearch, RequestedMcpServer } from '../../../research/run/request.ts';
import type { TerminalStatus } from '../../../store/run-store.ts';
import type { SourceLimits } from '../../../tools/source-limits.ts';
import type { Tool } from '../../../tools/tool.ts';
import type { ChatModel, TurnUsage } from '../../../upstream/turn.ts';
import type { RunMetrics } from '../../metrics.ts';
import type { AdmittedRun, EndedRun } from '../../runs.ts';
import type { RunDriver } from './run-driver.ts';

/** The tools of one run, and what they hold open. */
export interface RunTools extends AsyncDisposable {
  tools: ReadonlyMap<string, Tool>;
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
  chatModel(options: {
    modelName: string;
    model: ModelConfig;
    key: KeyConfig | undefined;
    runId: string;
    /** Names the conversation that the run belongs to. */
    conversation: () => string | undefined;
    /** Other routes than the model's. */
    routes?: readonly RouteConfig[];
    /** Called with what the client of the run should know, again with every turn. */
    onWarning?: (warning: Warning) => void;
    /** Called with what each turn used, however it ended. */
    onUsed?: (usage: TurnUsage) => void;
  }): ChatModel;
  openTools(
    options: SourceLimits & {
      /** Names of built-in tools. */
      builtin: readonly string[];
      /** Where the user is, as an ISO 3166 code. */
      country?: string | undefined;
      contextSize?: 'low' | 'medium' | 'high' | undefined;
      /** Where `file_search` searches, if it is among the built-in tools. */
      fileSearch?: FileSearch | undefined;
      /** Whether the configured MCP servers are offered too. */
      configuredMcp: boolean;
      mcpServers: readonly RequestedMcpServer[];
      /** Whose files may be read. */
      user: string;
      signal: AbortSignal;
      log: Logger;
    },
  ): Promise<RunTools>;
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
