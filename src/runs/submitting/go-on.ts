import { fieldError, GatewayError } from '../../base/errors.ts';
import { itemId, parseItemId, type RunId } from '../../base/ids.ts';
import { isObject, parseJson } from '../../base/json.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { FunctionOutputs, GoingOn, Shown } from '../../research/run/request.ts';
import { ResearchState } from '../../research/run/state.ts';
import type { ExecutableCall, ResultEntry, TranscriptEntry } from '../../research/run/transcript.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import { readResearchRequest } from '../stored/stored-request.ts';
import { readTranscript } from '../stored/stored-transcript.ts';

/**
 * The research of a run with what the calls that it waits for are answered with (docs/api.md, "Functions of research
 * models"). Undefined where it waits for none, or `param` is absent and the answers do not fit.
 * @param output gives the output of its response, `isThere` throws where it was removed.
 * @throws GatewayError as `isThere`; `invalid_parameter` for an answer that is missing, and for one of no call.
 */
export async function goOn(
  { store, carried }: { store: RunStore; carried: CarriedTranscripts },
  run: RunRecord,
  {
    output,
    isThere,
    ...answered
  }: FunctionOutputs & { output(): Promise<readonly OutputItem[]>; isThere(): Promise<unknown> },
): Promise<GoingOn | undefined> {
  const request = readResearchRequest(run);
  if (!request?.functions && !request?.approvals) return undefined;
  const before = await carried.before(request);
  const own = (await readTranscript(store, run.id)).flatMap(goingOn);
  // A transcript that was removed meanwhile reads as an empty one.
  await isThere();
  const state = ResearchState.of(own, request.earlierSources, before);
  const open = waitingFor(run.id, state.waitingCalls(), request.approvals ? await output() : []);
  if (open.size === 0) refuseStray(answered);
  if (open.size === 0 || !fits(open, answered)) return undefined;
  const approved = [...open].flatMap(([id, { call, name }]) =>
    answered.approvals.get(id) ? [{ call, request: id, name }] : [],
  );
  const results = [...open].flatMap(([id, made]) =>
    answered.approvals.get(id) ? [] : [resultOf(made, answered.outputs.get(id), state)],
  );
  const said = answered.said.map((shown): TranscriptEntry => ({ t: 'note', guard: 'user', ...shown }));
  const { history, earlierSources, conversation, instructions, functions } = request;
  const answers = [...results, ...said];
  refuseManyImages([...before, ...own, ...answers]);
  const goesOn = {
    ...(answered.isStored
      ? { ...(await carried.keep(run, request, own)), entries: answers }
      : { from: request.goesOn?.from ?? run.id, entries: [...before, ...own, ...answers] }),
    ...(approved.length > 0 && { approved }),
  };
  return { history, earlierSources, conversation, instructions, functions, goesOn };
}

/** What is gone on from is read whole, again and again. */
function refuseManyImages(entries: readonly TranscriptEntry[]): void {
  let characters = 0;
  for (const entry of entries) {
    if ('images' in entry) for (const url of entry.images ?? []) characters += url.length;
  }
  if (characters <= MOST_IMAGES) return;
  const message = 'The images of this research are more than it may hold: begin a new one.';
  throw new GatewayError('invalid_parameter', message, { param: 'input' });
}

/** Calls by the ids that their answers name: of functions those of the calls, else those of the requests. */
function waitingFor(
  run: RunId,
  calls: readonly ExecutableCall[],
  output: readonly OutputItem[],
): Map<string, ExecutableCall> {
  const requests = output.flatMap(({ type, id }) => (type === 'mcp_approval_request' ? [id] : [])).values();
  return new Map(
    calls.map((made) => {
      const request = made.asks && requests.next().value;
      return [request || itemId('call', run, { output: made.call }), made];
    }),
  );
}

/** An entry as the next response has it: how this one ended, and the bound on its own calls, are left behind. */
function goingOn(entry: TranscriptEntry): TranscriptEntry[] {
  if (entry.t === 'answered' || entry.t === 'warned') return [];
  if (entry.t === 'joined' && entry.cut === 'max_tool_calls') {
    const { cut: _, ...joined } = entry;
    return [joined];
  }
  if (entry.t !== 'turn' || entry.forced?.reason !== 'max_tool_calls') return [entry];
  const { forced: _, ...turn } = entry;
  return [turn];
}

function fits(
  open: ReadonlyMap<string, ExecutableCall>,
  { outputs, repeated, approvals, param }: Pick<FunctionOutputs, 'outputs' | 'repeated' | 'approvals' | 'param'>,
): boolean {
  const [missing, call] = [...open].find(([id, { asks }]) => !(asks ? approvals : outputs).has(id)) ?? [];
  if (param === undefined) return missing === undefined;
  if (call?.asks) throw wrong(param, `there is no mcp_approval_response for the request ${missing}`);
  if (missing !== undefined) throw wrong(param, `there is no output for the call ${missing}`);
  const unknown = [...outputs.keys()].find((id) => !open.has(id));
  if (unknown !== undefined) throw unknownCall(param, unknown);
  if (repeated !== undefined) throw wrong(param, `there are several outputs of the call ${repeated}`);
  return true;
}

/** Where no call waits, an output belongs to a call of the same input. */
function refuseStray({ outputs, called, param }: Pick<FunctionOutputs, 'outputs' | 'called' | 'param'>): void {
  const stray = param === undefined ? undefined : outputs.keys().find((id) => !called.has(id));
  if (param !== undefined && stray !== undefined) throw unknownCall(param, stray);
}

function unknownCall(param: string, id: string): GatewayError {
  return wrong(param, `there is no call ${id.slice(0, 80)} that this is the output of`);
}

function wrong(param: string, message: string): GatewayError {
  return fieldError('invalid_parameter', param, `${message}.`);
}

/** The most of an output that is kept, in UTF-16 code units: as of any tool. */
const MAX_OUTPUT = 120_000;
/** Images that a research may hold in all its requests, in UTF-16 code units of their addresses. */
const MOST_IMAGES = 64 * 1024 ** 2;

/** An output as the result of a tool. One that names where it is from, `{"url", "title"?, "content"}`, is a source. */
function resultOf(
  { call }: ExecutableCall,
  { text: output, images }: Shown = { text: '' },
  state: ResearchState,
): ResultEntry {
  const shown = images && images.length > 0 && { images };
  const base = { t: 'result' as const, call, status: 'completed' as const, queries: 0, ...shown };
  const value = parseJson(output);
  const url = isObject(value) && typeof value.url === 'string' ? URL.parse(value.url) : null;
  if (!isObject(value) || typeof value.content !== 'string' || !url || !/^https?:$/.test(url.protocol)) {
    return { ...base, result: output.slice(0, MAX_OUTPUT).toWellFormed(), sources: [] };
  }
  const title = typeof value.title === 'string' ? value.title.slice(0, 300) : '';
  const content = value.content.slice(0, MAX_OUTPUT).toWellFormed();
  const sources = state.sources.add([
    { url: url.href, title, snippet: content.slice(0, 300).toWellFormed(), kind: 'read' },
  ]);
  const source_id = state.sources.byUrl(url.href)?.id;
  return { ...base, result: JSON.stringify({ source_id, url: url.href, title, content }), sources };
}

/** The run that the last of some calls, or of requests for approval, names, if any. */
export function runOfCalls(callIds: Iterable<string>): RunId | undefined {
  let run: RunId | undefined;
  for (const id of callIds) run = /^(?:call|mcpr)_/.test(id) ? (parseItemId(id)?.run ?? run) : run;
  return run;
}
