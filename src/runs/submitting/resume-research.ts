import { fieldError, GatewayError } from '../../base/errors.ts';
import { itemId, parseItemId, type RunId } from '../../base/ids.ts';
import { isObject, parseJson } from '../../base/json.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { ContinuedResearch, FunctionOutputs, TextWithImages } from '../../research/run/request.ts';
import { ResearchState } from '../../research/run/state.ts';
import type { ExecutableCall, ResultEntry, TranscriptEntry } from '../../research/run/transcript.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import { readResearchRequest } from '../stored/stored-request.ts';
import { readTranscript } from '../stored/stored-transcript.ts';

/**
 * Prepares the research of a run to continue with answers to the calls that it waits for (docs/api.md, "Functions of
 * research models"). Undefined if it waits for none, or if `param` is absent and the answers do not match.
 * @param output gives the output of the run's response; `isThere` throws if the run was removed.
 * @throws GatewayError as `isThere`; `invalid_parameter` for a missing answer, and for one that belongs to no call.
 */
export async function resumeResearch(
  { store, carried }: { store: RunStore; carried: CarriedTranscripts },
  run: RunRecord,
  {
    output,
    isThere,
    ...answered
  }: FunctionOutputs & { output(): Promise<readonly OutputItem[]>; isThere(): Promise<unknown> },
): Promise<ContinuedResearch | undefined> {
  const request = readResearchRequest(run);
  if (!request?.functions && !request?.approvals) return undefined;
  const earlierEntries = await carried.entriesBefore(request);
  const ownEntries = (await readTranscript(store, run.id)).flatMap(carriedEntry);
  // The transcript of a run that was removed meanwhile reads as empty.
  await isThere();
  const state = ResearchState.of(ownEntries, request.earlierSources, earlierEntries);
  const waiting = waitingFor(run.id, state.waitingCalls(), request.approvals ? await output() : []);
  if (waiting.size === 0) refuseStray(answered);
  if (waiting.size === 0 || !checkAnswers(waiting, answered)) return undefined;
  const approved = [...waiting].flatMap(([id, { call, name }]) =>
    answered.approvals.get(id) ? [{ call, request: id, name }] : [],
  );
  const results = [...waiting].flatMap(([id, call]) =>
    answered.approvals.get(id) ? [] : [resultOf(call, answered.outputs.get(id), state)],
  );
  const notes = answered.messages.map((message): TranscriptEntry => ({ t: 'note', guard: 'user', ...message }));
  const { history, earlierSources, conversation, instructions, functions } = request;
  const answers = [...results, ...notes];
  refuseTooManyImages([...earlierEntries, ...ownEntries, ...answers]);
  const last = state.entries.findLast((entry) => entry.t === 'turn' && entry.usage.inputTokens > 0);
  const goesOn = {
    ...(last?.t === 'turn' && { tokens: last.usage.inputTokens + last.usage.outputTokens }),
    ...(answered.isStored
      ? { ...(await carried.save(run, request, ownEntries)), entries: answers }
      : { from: request.goesOn?.from ?? run.id, entries: [...earlierEntries, ...ownEntries, ...answers] }),
    ...(approved.length > 0 && { approved }),
  };
  return { history, earlierSources, conversation, instructions, functions, goesOn };
}

/** The whole transcript is read again with every continuation, so its images are limited. */
function refuseTooManyImages(entries: readonly TranscriptEntry[]): void {
  let characters = 0;
  for (const entry of entries) {
    if ('images' in entry) for (const url of entry.images ?? []) characters += url.length;
  }
  if (characters <= MAX_IMAGES) return;
  const message = 'The images of this research are more than it may hold: begin a new one.';
  throw new GatewayError('invalid_parameter', message, { param: 'input' });
}

/** Calls that wait, by the id that their answer names: the call's for a function, the request's for an approval. */
function waitingFor(
  run: RunId,
  calls: readonly ExecutableCall[],
  output: readonly OutputItem[],
): Map<string, ExecutableCall> {
  const requests = output.flatMap(({ type, id }) => (type === 'mcp_approval_request' ? [id] : [])).values();
  return new Map(
    calls.map((call) => {
      const request = call.asks && requests.next().value;
      return [request || itemId('call', run, { output: call.call }), call];
    }),
  );
}

/** An entry as the next response sees it: without how this one ended and without the limit on its own calls. */
function carriedEntry(entry: TranscriptEntry): TranscriptEntry[] {
  if (entry.t === 'answered' || entry.t === 'warned') return [];
  if (entry.t === 'joined' && entry.cut === 'max_tool_calls') {
    const { cut: _, ...joined } = entry;
    return [joined];
  }
  if (entry.t !== 'turn' || entry.forced?.reason !== 'max_tool_calls') return [entry];
  const { forced: _, ...turn } = entry;
  return [turn];
}

function checkAnswers(
  waiting: ReadonlyMap<string, ExecutableCall>,
  { outputs, duplicate, approvals, param }: Pick<FunctionOutputs, 'outputs' | 'duplicate' | 'approvals' | 'param'>,
): boolean {
  const [missing, call] = [...waiting].find(([id, { asks }]) => !(asks ? approvals : outputs).has(id)) ?? [];
  if (param === undefined) return missing === undefined;
  if (call?.asks) throw inputError(param, `there is no mcp_approval_response for the request ${missing}`);
  if (missing !== undefined) throw inputError(param, `there is no output for the call ${missing}`);
  const unknown = [...outputs.keys()].find((id) => !waiting.has(id));
  if (unknown !== undefined) throw unknownCall(param, unknown);
  if (duplicate !== undefined) throw inputError(param, `there are several outputs of the call ${duplicate}`);
  return true;
}

/** If no call waits, every output must belong to a call of the same input. */
function refuseStray({
  outputs,
  repeatedCalls,
  param,
}: Pick<FunctionOutputs, 'outputs' | 'repeatedCalls' | 'param'>): void {
  const stray = param === undefined ? undefined : outputs.keys().find((id) => !repeatedCalls.has(id));
  if (param !== undefined && stray !== undefined) throw unknownCall(param, stray);
}

function unknownCall(param: string, id: string): GatewayError {
  return inputError(param, `there is no call ${id.slice(0, 80)} that this is the output of`);
}

function inputError(param: string, message: string): GatewayError {
  return fieldError('invalid_parameter', param, `${message}.`);
}

/** How much of an output is stored, in UTF-16 code units: as much as for any tool. */
const MAX_OUTPUT = 120_000;
/** Total length of the image URLs in a research, in UTF-16 code units. */
const MAX_IMAGES = 64 * 1024 ** 2;

/** An output as a tool result. One that names its origin, `{"url", "title"?, "content"}`, also becomes a source. */
export function resultOf(
  { call }: Pick<ExecutableCall, 'call'>,
  { text: output, images }: TextWithImages = { text: '' },
  state: ResearchState,
): ResultEntry {
  const attached = images && images.length > 0 && { images };
  const base = { t: 'result' as const, call, status: 'completed' as const, queries: 0, ...attached };
  const value = parseJson(output);
  const url = isObject(value) && typeof value.url === 'string' ? URL.parse(value.url) : null;
  if (!isObject(value) || typeof value.content !== 'string' || !url || !/^https?:$/.test(url.protocol)) {
    return { ...base, result: output.slice(0, MAX_OUTPUT).toWellFormed(), sources: [] };
  }
  const title = typeof value.title === 'string' ? value.title.slice(0, 300).toWellFormed() : '';
  const content = value.content.slice(0, MAX_OUTPUT).toWellFormed();
  const sources = state.sources.add([
    { url: url.href, title, snippet: content.slice(0, 300).toWellFormed(), kind: 'read' },
  ]);
  const source_id = state.sources.byUrl(url.href)?.id;
  return { ...base, result: JSON.stringify({ source_id, url: url.href, title, content }), sources };
}

/** The run that the last of these ids of calls or approval requests names, if any. */
export function runOfCalls(callIds: Iterable<string>): RunId | undefined {
  let run: RunId | undefined;
  for (const id of callIds) run = /^(?:call|mcpr)_/.test(id) ? (parseItemId(id)?.run ?? run) : run;
  return run;
}
