import { TimeoutError, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { isJsonObject, isObject, parseJson } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { inSpan, type OpenSpan } from '../../base/telemetry/spans.ts';
import { type Tool, ToolError, type ToolOutput } from '../../tools/tool.ts';
import type { ObservedToolCall } from '../run/run.ts';
import type { Source, SourceRegistry } from '../run/sources.ts';
import type { ExecutableCall, ResultEntry } from '../run/transcript.ts';

/** Longer results are cut for model and client, in UTF-16 code units. */
const MAX_RESULT_LENGTH = 120_000;

export interface ToolRunner {
  tools: ReadonlyMap<string, Tool>;
  sources: SourceRegistry;
  log: Logger;
  /** Aborts with the run. */
  signal: AbortSignal;
  /** Also aborts when the time for research is over: running calls then fail, and the run goes on. */
  limit: AbortSignal;
  /** Waits for a free slot, where several lanes make calls at the same time. */
  slot?: ((signal: AbortSignal) => Promise<Disposable>) | undefined;
  onToolCall?: ((call: ObservedToolCall) => void) | undefined;
  /** Called with the number of queries that are about to be sent to search providers, whether the call gives a result or not. */
  onSearch?: ((queries: number) => void) | undefined;
}

/**
 * Runs calls, at most `parallel` at a time, and yields each result as soon as it is there. A tool that fails gives a
 * failed result; only an abort of the run's signal throws. Sources are numbered when their result is yielded, so that
 * the numbers follow the order of the transcript.
 */
export async function* runToolCalls(
  calls: readonly ExecutableCall[],
  runner: ToolRunner,
  options: { parallel: number },
): AsyncGenerator<ResultEntry> {
  const waiting = [...calls];
  const finished: Promise<FinishedCall>[] = [];
  let running = 0;
  let next = Promise.withResolvers<void>();
  // No Promise.race over the running calls: each round would leave reactions, and so results, attached to a slow one.
  const start = (call: ExecutableCall) => {
    const work = runToolCall(call, runner);
    const done = () => {
      finished.push(work);
      next.resolve();
    };
    work.then(done, done);
  };
  while (waiting.length > 0 || running > 0) {
    for (; running < options.parallel; running++) {
      const call = waiting.shift();
      if (!call) break;
      start(call);
    }
    next = Promise.withResolvers();
    if (finished.length === 0) await next.promise;
    const ended = await finished.shift();
    running -= 1;
    runner.signal.throwIfAborted();
    if (ended) yield toEntry(ended, runner.sources);
  }
}

interface FinishedCall {
  call: ExecutableCall;
  /** Queries that were sent to search providers. */
  queries: number;
  outcome: { output: ToolOutput } | { failure: string };
}

async function runToolCall(call: ExecutableCall, runner: ToolRunner): Promise<FinishedCall> {
  // Models invent tool names, which must not become span names.
  const name = runner.tools.has(call.name) ? call.name : 'unknown';
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': call.id,
  };
  return await inSpan({ name: `execute_tool ${name}`, attributes }, async (span) => {
    const startedAt = performance.now();
    const finished = await attempt(call, runner);
    const ms = Math.round(performance.now() - startedAt);
    const status = statusOf(finished);
    runner.log.info({ tool: call.name, call: call.call, status, ms }, 'tool call');
    runner.onToolCall?.({ name: call.name, status, ms });
    describeIn(span, finished, runner);
    return finished;
  });
}

function statusOf({ outcome }: FinishedCall): ResultEntry['status'] {
  return 'failure' in outcome || outcome.output.failed ? 'failed' : 'completed';
}

/** Adds the outcome of a call to its span, with arguments and result if contents may be recorded. */
function describeIn(span: OpenSpan, finished: FinishedCall, { sources }: ToolRunner): void {
  const { call, outcome } = finished;
  if (statusOf(finished) === 'failed') span.fail('tool_error');
  if (!span.showsContents) return;
  const result = 'failure' in outcome ? outcome.failure : outcome.output.result((url) => sources.byUrl(url)?.id ?? 0);
  span.set({
    'gen_ai.tool.call.arguments': call.arguments,
    'gen_ai.tool.call.result': typeof result === 'string' ? result : JSON.stringify(result),
  });
}

async function attempt(call: ExecutableCall, runner: ToolRunner): Promise<FinishedCall> {
  let queries = 0;
  const onSearch = (sent: number) => {
    queries += sent;
    runner.onSearch?.(sent);
  };
  try {
    using _ = await runner.slot?.(runner.limit);
    const output = await execute(call, parseJson(call.arguments), { ...runner, onSearch });
    return { call, queries, outcome: { output } };
  } catch (thrown) {
    return { call, queries, outcome: { failure: failureText(thrown, call, runner) } };
  }
}

function toEntry(finished: FinishedCall, registry: SourceRegistry): ResultEntry {
  const { call, queries, outcome } = finished;
  const base = { t: 'result' as const, call: call.call, queries };
  if ('failure' in outcome) return { ...base, status: 'failed', result: outcome.failure, sources: [] };
  const { output } = outcome;
  const added = registry.add(output.sources);
  const value = output.result((url) => registry.byUrl(url)?.id ?? 0);
  const sources = added.map((source) => withRedirect(source, value));
  registry.update(sources);
  const result = bounded(typeof value === 'string' ? value : JSON.stringify(value));
  return { ...base, status: statusOf(finished), result, sources };
}

/** A page that was redirected is known under both URLs, because answers cite either. */
function withRedirect(source: Source, value: unknown): Source {
  if (!isObject(value) || value.url !== source.url || typeof value.final_url !== 'string') return source;
  return { ...source, movedTo: value.final_url };
}

/** The longest quoted name, in UTF-16 code units, and how many tools are listed for the model. */
const MAX_NAME = 100;
const MAX_LISTED = 50;

/** The refusal of a call of a tool that is not on offer. */
export function unknownTool(name: string, offered: Iterable<string>): string {
  const known = [...offered].slice(0, MAX_LISTED).join(', ') || 'none';
  return `There is no tool named ${name.slice(0, MAX_NAME).toWellFormed()}. Available tools: ${known}.`;
}

async function execute(call: ExecutableCall, args: unknown, runner: ToolRunner): Promise<ToolOutput> {
  const tool = runner.tools.get(call.name);
  if (!tool) throw new ToolError('unknown_tool', unknownTool(call.name, runner.tools.keys()));
  if (!isJsonObject(args) || call.broken) {
    throw new ToolError(
      'invalid_arguments',
      'The arguments are not a JSON object. Call the tool again with valid JSON.',
    );
  }
  const { limit, log, onSearch } = runner;
  const run = (limited: AbortSignal) => tool.call(args, { signal: limited, log, onSearch });
  return await withTimeout(call.name, tool.timeoutMs, run, { signal: limit });
}

function failureText(thrown: unknown, call: ExecutableCall, runner: ToolRunner): string {
  if (thrown instanceof ToolError) return errorText(thrown.code, thrown.message);
  if (runner.limit.aborted) return errorText('timeout', 'The time for research is over.');
  if (thrown instanceof TimeoutError)
    return errorText('timeout', `${call.name} gave no result within ${thrown.ms / 1000} s.`);
  runner.log.error({ tool: call.name, err: messageOf(thrown) }, 'tool failed unexpectedly');
  return errorText('internal_error', `${call.name} failed.`);
}

function errorText(code: string, message: string): string {
  return JSON.stringify({ error: { message, code } });
}

function bounded(text: string): string {
  if (text.length <= MAX_RESULT_LENGTH) return text;
  return JSON.stringify({ truncated: true, content: text.slice(0, MAX_RESULT_LENGTH) });
}
