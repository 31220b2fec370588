import type { RequestHandler } from 'express';
import type { Registry } from 'prom-client';
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import type { FairSemaphore } from '../base/fair-semaphore.ts';
import type { Logger } from '../base/logger.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { GatewayConfig, KeyConfig } from '../config/schema.ts';
import type { Files } from '../files/files.ts';
import type { AnswerCache } from '../gateway/answer-cache.ts';
import type { ModelProxy } from '../gateway/model-proxy.ts';
import type { Passthrough } from '../gateway/passthrough/passthrough.ts';
import type { StoredKeys } from '../keys/stored-keys.ts';
import type { SealedContents } from '../plain/sealed-contents.ts';
import type { SchemaChecker } from '../research/answer/schema/schema-job.ts';
import type { Compactor } from '../runs/compaction.ts';
import type { Conversations } from '../runs/conversations.ts';
import type { LoadMeter } from '../runs/load-meter.ts';
import type { Runs } from '../runs/runs.ts';
import type { Caller } from '../runs/submission.ts';
import type { Instances } from '../store/instances.ts';
import type { Toolbox } from '../tools/toolbox.ts';
import type { ProviderState } from '../upstream/routing/provider.ts';
import type { UsageLog } from '../usage/usage.ts';
import type { OpenedVectorStores } from '../vector-stores/open.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { OpenAnswers } from './answers/open-answers.ts';
import type { Admission } from './limits/admission.ts';
import type { LongAnswers } from './limits/long-answers.ts';
import type { HttpMetrics } from './metrics.ts';
import type { Activity } from './operator/activity.ts';
import type { ReportDocuments } from './report/documents.ts';
import type { RequestContext } from './request-context.ts';
import type { SocketTimes } from './socket/times.ts';
import type { Attachments } from './submission/attachments.ts';

/** Whether the gateway can do its work, and if not, why. */
export interface Readiness {
  ready: boolean;
  /** One line per problem. Shown to anyone, so without secrets. */
  reasons: string[];
  /** One line for everything that works but will soon fail, without secrets. */
  warnings?: string[];
}

/** The parts of the gateway that operators look at. */
export interface OperatorParts {
  instance: string;
  instances: Pick<Instances, 'list'>;
  providers(): ProviderState[];
  activity: Activity;
}

/** What the HTTP app is made of. */
export interface HttpParts extends Omit<OpenedVectorStores, keyof AsyncDisposable> {
  config: Pick<LiveConfig, 'current' | 'onChange'>;
  runs: Runs;
  conversations: Conversations;
  webhooks: Pick<Webhooks, 'listDeliveries' | 'redeliver'>;
  files: Files;
  /** Reads documents that clients attach. */
  documents: Pick<Toolbox, 'read'>;
  compactor: Compactor;
  /** Opens encrypted reasoning and compactions that clients send back. */
  sealed: SealedContents;
  /** Proxies calls. Background tasks on proxy models go through `runs`. */
  proxy: Pick<ModelProxy, 'forward'>;
  answerCache: Pick<AnswerCache, 'entryOf'>;
  /** Streams calls of configured paths to a provider without buffering them. */
  passthrough: Pick<Passthrough, 'pass' | 'connect'>;
  schemas: SchemaChecker;
  log: Logger;
  clock: Clock;
  /** How busy this process is. New work is refused before running work suffers. */
  load: LoadMeter;
  admission: Admission;
  usage: Pick<UsageLog, 'add' | 'begin' | 'day' | 'flush'>;
  keys: Pick<StoredKeys, 'isInFile' | 'get' | 'list' | 'create' | 'update' | 'rotate' | 'remove'>;
  audit: Pick<Audit, 'record' | 'recordRefusal' | 'list'>;
  /** Metrics of all floors; shown at /metrics. */
  registry: Registry;
  /** The text of /metrics; absent: that of the registry. */
  showMetrics?(): Promise<string>;
  readiness(): Promise<Readiness>;
  /** Overrides the default times of WebSockets. */
  socketTimes?: Partial<SocketTimes>;
  /** Aborts when the gateway begins to stop: new work is refused. */
  stopping: AbortSignal;
  /** What the operator's page shows; absent: there is no such page. */
  operator?: OperatorParts;
  /** Pages served under /console. */
  console?: RequestHandler;
}

/** What endpoints work with: the parts, and what the app creates from them once. */
export interface AppDeps extends Omit<HttpParts, 'console'> {
  /** Memory of request bodies, in bytes. */
  bodies: FairSemaphore;
  longAnswers: LongAnswers;
  metrics: HttpMetrics;
  openAnswers: OpenAnswers;
  /** Limits how many submissions start in one turn of the event loop. */
  submissions: FairSemaphore;
  attachments: Attachments;
  reports: ReportDocuments;
}

/** Who sent a request, and the configuration that applies to it. */
export interface Identity {
  key: KeyConfig;
  caller: Caller;
  config: GatewayConfig;
  context: RequestContext;
}
