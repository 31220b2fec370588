import { type Clock, systemClock } from '../../src/base/clock.ts';
import { publicId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { once } from '../../src/base/once.ts';
import { CredentialCipher } from '../../src/base/secrets/encrypt.ts';
import { Sealer } from '../../src/base/secrets/sealed.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { configSchema, type GatewayConfig } from '../../src/config/schema.ts';
import { SealedContents } from '../../src/plain/sealed-contents.ts';
import type { RunEvent } from '../../src/protocol/events.ts';
import { decodeFrames } from '../../src/protocol/frames.ts';
import { SchemaChecks } from '../../src/research/answer/schema/schema-checks.ts';
import { loadPrompts } from '../../src/research/prompts/load-prompts.ts';
import type { ResearchRequest } from '../../src/research/run/request.ts';
import { Conversations } from '../../src/runs/conversations.ts';
import { createDriver } from '../../src/runs/executing/driving/driver.ts';
import type { DriverParts } from '../../src/runs/executing/driving/driver-parts.ts';
import type { RunDriver } from '../../src/runs/executing/driving/run-driver.ts';
import type { Executor } from '../../src/runs/executing/executor.ts';
import type { ExecutorOptions } from '../../src/runs/executing/executor-options.ts';
import { LocalExecutor } from '../../src/runs/executing/local-executor.ts';
import type { LoadMeter } from '../../src/runs/load-meter.ts';
import type { RunRecord } from '../../src/runs/runs.ts';
import { Runs } from '../../src/runs/runs.ts';
import { CarriedTranscripts } from '../../src/runs/stored/carried-transcripts.ts';
import type { Caller, Submission } from '../../src/runs/submission.ts';
import { openStorage } from '../../src/store/open.ts';
import type { RunStore } from '../../src/store/run-store.ts';
import type { ConversationStore } from '../../src/store/side-stores/conversation-store.ts';
import type { Tool, ToolSource } from '../../src/tools/tool.ts';
import type { ChatModel } from '../../src/upstream/turn.ts';
import { patience } from './time-limit.ts';

export const CALLER: Caller = { user: 'ann', keyId: 'key-ann' };
export const MODEL = 'researcher';

/** A configuration with one research model, with overrides. */
export function testConfig(overrides: { research?: object; runs?: object; model?: object } = {}): GatewayConfig {
  return configSchema.parse({
    store: { url: 'memory:' },
    runs: overrides.runs ?? {},
    providers: { demo: { builtin: 'demo' } },
    models: {
      [MODEL]: {
        kind: 'research',
        routes: [{ provider: 'demo', model: 'demo' }],
        research: overrides.research ?? {},
        ...overrides.model,
      },
    },
    keys: [{ id: CALLER.keyId, user: CALLER.user, secret: 'sk-harness-secret' }],
  });
}

export interface Harness extends AsyncDisposable {
  conversations: Conversations;
  runs: Runs;
  store: RunStore;
  executor: Executor;
  /** Stops the executor and opens another over the same store, as after a crash. */
  stop(): Promise<void>;
}

export interface HarnessOptions {
  chat: ChatModel;
  tools?: Tool[];
  store?: RunStore;
  /** Of that store. */
  conversations?: ConversationStore;
  config?: GatewayConfig;
  clock?: Clock;
  /** How busy the process says it is; idle where absent. */
  load?: LoadMeter;
  /** Told of what the tools of a run are opened with. */
  onOpenTools?(request: Parameters<DriverParts['openTools']>[0]): void;
  /** See `RunDriver`. */
  begins?: RunDriver['beforeResume'];
  /** See `RunDriver`. */
  leaves?: RunDriver['afterExecution'];
  /** `store.encryption_keys`. */
  encryptionKeys?: readonly string[];
  /** Whether it has heard of the key of its runs; it has where absent. */
  knowsKey?(): boolean;
  /** The executor; the one of a single instance where absent. */
  executor?: (options: ExecutorOptions) => Executor;
}

const SEALER = new Sealer({ keys: ['k'.repeat(32)], share: async () => '' });

const conversationStorage = once(() => openStorage(testConfig().store, { log: silentLogger }));
/** Shared, so that tests do not start a process each. */
const SCHEMAS = new SchemaChecks();

/** Opens the parts of `runs/` over a real store, with the test's own model and tools. */
export async function openHarness(options: HarnessOptions): Promise<Harness> {
  const config = options.config ?? testConfig();
  const clock = options.clock ?? systemClock;
  // Where the store is the caller's, conversations are in one that all such harnesses share.
  const storage = await (options.store ? conversationStorage() : openStorage(config.store, { log: silentLogger }));
  const store = options.store ?? storage.runs;
  const closing = new AbortController();
  const tools = new Map((options.tools ?? []).map((tool) => [tool.name, tool]));
  const cipher = new CredentialCipher('ab'.repeat(32), options.encryptionKeys ?? []);
  const cipherOf = () => ((options.knowsKey?.() ?? true) ? cipher : undefined);
  const driver = createDriver({
    config: new LiveConfig(config),
    prompts: loadPrompts(),
    schemas: SCHEMAS,
    clock,
    monotonicClock: clock,
    log: silentLogger,
    chatModel: () => options.chat,
    openTools: async (request) => {
      options.onOpenTools?.(request);
      return { tools, [Symbol.asyncDispose]: async () => {} };
    },
    proxy: async ({ request }) => `{"echo":${request.body}}`,
    cipherOf,
    sealed: new SealedContents(SEALER),
  });
  const retentionMs = config.store.retentionMs;
  const kept = { store, conversations: options.conversations ?? storage.conversations, clock, retentionMs };
  const { entries } = storage;
  const carried = new CarriedTranscripts({ ...kept, runMs: config.runs.maxRunMs });
  const conversations = new Conversations({ ...kept, entries, carried });
  const openExecutor = options.executor ?? ((parts: ExecutorOptions) => new LocalExecutor(parts));
  const executor = openExecutor({
    store,
    carried,
    driver: { ...driver, beforeResume: options.begins, afterExecution: options.leaves },
    clock,
    log: silentLogger,
    maxConcurrent: config.runs.max_concurrent,
    retentionMs,
    load: options.load ?? { utilization: 0, lagMs: 0 },
  });
  const runs = new Runs({
    store,
    entries,
    executor,
    conversations,
    carried,
    clock,
    log: silentLogger,
    maxQueued: () => config.runs.max_queued,
    retentionMs,
    cipherOf,
    closing: closing.signal,
    stopped: closing.signal,
  });
  await executor.start();
  const stop = async () => {
    closing.abort();
    await executor.stop({ graceMs: 1000 });
  };
  return {
    runs,
    conversations,
    store,
    executor,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      if (!options.store) await storage.close();
    },
  };
}

/** A submission of one question. */
export function question(overrides: Partial<Submission> & { research?: Partial<ResearchRequest> } = {}): Submission {
  const { research, ...rest } = overrides;
  return {
    caller: CALLER,
    api: 'responses',
    model: MODEL,
    request: {
      kind: 'research',
      history: [],
      earlierSources: [],
      conversation: [{ role: 'user', content: [{ type: 'text', text: 'What is a run?' }] }],
      instructions: null,
      effort: 'medium',
      tools: null,
      toolChoice: 'auto',
      mcpServers: [],
      maxOutputTokens: null,
      maxToolCalls: null,
      temperature: null,
      topP: null,
      format: null,
      ...research,
    },
    input: [{ type: 'message', role: 'user', content: 'What is a run?' }],
    background: false,
    metadata: {},
    previousResponseId: null,
    ...rest,
  };
}

/** A tool that answers immediately. */
export function testTool(
  name: string,
  call: (args: Record<string, unknown>) => Promise<ToolAnswer> | ToolAnswer,
): Tool {
  return {
    name,
    description: `The ${name} tool.`,
    parameters: { type: 'object' },
    timeoutMs: 10_000,
    async call(args) {
      const answer = await call(args);
      return { sources: answer.sources ?? [], result: () => answer.result, ...(answer.failed ? { failed: true } : {}) };
    },
  };
}

export interface ToolAnswer {
  result: string;
  sources?: ToolSource[];
  failed?: boolean;
}

/** All bytes that a reader from `after` receives. */
export async function readAll(runs: Runs, run: RunRecord, after = 0): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const signal = AbortSignal.timeout(patience(60));
  for await (const batch of runs.follow(run, { after, signal })) chunks.push(batch.frames);
  return Buffer.concat(chunks);
}

/** Submits a run and waits for its end. */
export async function runToEnd(harness: Harness, submission: Submission) {
  const { run } = await harness.runs.submit(submission);
  const bytes = await readAll(harness.runs, run);
  const events: RunEvent[] = decodeFrames(bytes);
  const ended = await harness.runs.find(submission.caller, 'responses', publicId('responses', run.id));
  return { run: ended, bytes, events, response: await harness.runs.response(ended) };
}
