import { activeSpan, inSpan } from '../../base/telemetry/spans.ts';
import type { AppendBatch, AppendResult, RunRecord } from '../../store/run-store.ts';
import { readRequest } from '../stored/stored-request.ts';
import type { ExecutionResult, RunEnd } from './driving/run-driver.ts';

/**
 * Drives a run in a span of its own, in the trace of the request that submitted it. If several processes drive the run,
 * each has its span. `showsContents`: child spans may contain prompts and answers.
 */
export async function inRunSpan(
  run: RunRecord,
  { showsContents }: { showsContents: boolean },
  drive: () => Promise<ExecutionResult>,
): Promise<ExecutionResult> {
  const { trace, name, conversation } = spanDetails(run);
  const attributes = {
    'gen_ai.agent.name': run.model,
    'research_gateway.run.id': run.id,
    'research_gateway.key.id': run.keyId,
    ...(name === 'invoke_agent' && { 'gen_ai.operation.name': name }),
    ...(conversation !== undefined && { 'gen_ai.conversation.id': conversation }),
  };
  const root = { trace, contents: showsContents };
  return await inSpan({ name: `${name} ${run.model}`, attributes, root }, async (span) => {
    const result = await drive();
    span.set({ 'research_gateway.run.result': result });
    return result;
  });
}

/** A request stored by a newer gateway cannot be read; the error is left to whoever drives the run. */
function spanDetails(run: RunRecord) {
  try {
    const { trace, conversation, request } = readRequest(run);
    return { trace, name: request.kind === 'proxy' ? 'run' : 'invoke_agent', conversation };
  } catch {
    return { trace: undefined, name: 'run', conversation: undefined };
  }
}

/** Records how a run ended in the active span. */
export function recordRunEnd(ended: RunEnd | undefined): void {
  const span = activeSpan();
  if (!span || !ended) return;
  span.set({ 'research_gateway.run.status': ended.status });
  if (ended.error !== undefined && ended.status === 'failed') span.fail(ended.error);
}

/**
 * A wrapper for appends to the log of the current run: an append that finishes a step or the run gets a span, one of
 * deltas does not. Taken once, because an append caused by a socket's data runs outside the context of the run.
 */
export function storeSpans(): (batch: AppendBatch, append: () => Promise<AppendResult>) => Promise<AppendResult> {
  const run = activeSpan();
  return ({ count, progress, end }, append) => {
    if (!run || !(progress || end)) return append();
    const attributes = { 'research_gateway.store.events': count, 'research_gateway.store.end': end !== undefined };
    return run.in(() => inSpan({ name: 'store append', attributes }, append));
  };
}
