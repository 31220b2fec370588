import { itemId, type RunId } from '../../base/ids.ts';
import { isObject, parseJson } from '../../base/json.ts';
import { measureStep, yieldToEventLoop } from '../../base/load/event-loop.ts';
import { contentText } from '../../base/text.ts';
import { threadOf } from '../../plain/turns.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { ContentPart, PlainPart } from '../../protocol/requests/content-parts.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import { type PartialAnswer, renumbered, withoutForeignMarkers } from '../../research/answer/earlier-answer.ts';
import { needsApproval } from '../../research/calls/approvals.ts';
import { findingsOf } from '../../research/context/findings.ts';
import { imagesOfResult, withImages } from '../../research/context/segment.ts';
import { hasSourceNumbers } from '../../research/run/own-tools.ts';
import type { ConversationMessage, EarlierSource, FollowUp } from '../../research/run/request.ts';
import { ResearchState } from '../../research/run/state.ts';
import type { TranscriptEntry } from '../../research/run/transcript.ts';
import { fenceWithoutNonce } from '../../research/text/fence.ts';
import { keyFacts, keywords } from '../../research/text/key-facts.ts';
import { questionOf } from '../../research/text/prose.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import type { TurnMessage, TurnToolCall, UserPart } from '../../upstream/turn.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import { readPlainRequest, readRequest, readResearchRequest } from '../stored/stored-request.ts';
import { readTranscript } from '../stored/stored-transcript.ts';

/** How many sources a follow-up inherits at most: the latest of a long chain. */
const MAX_SOURCES = 200;
/** Length of one page's key facts, in UTF-16 code units. */
const FACTS_LENGTH = 800;
/** How much of a page is searched for key facts, in UTF-16 code units. */
const PAGE_LENGTH = 200_000;
/** How many messages a follow-up inherits at most, and the length of their texts and images, in UTF-16 code units. */
const MAX_MESSAGES = 2000;
const MAX_TEXT = 4_000_000;
const MAX_IMAGES = 16_000_000;

/**
 * What a follow-up of a completed run inherits. Each stored request already holds its own history, so one step is enough
 * for a whole chain, which also survives the deletion of its earlier runs.
 */
export async function followUpContext(
  { store, carried }: { store: RunStore; carried: CarriedTranscripts },
  run: RunRecord,
  answer: PartialAnswer,
): Promise<FollowUp> {
  const request = readResearchRequest(run);
  if (!request) {
    const response = async () => ({ output_text: answer.text, output: [] });
    const messages = await conversationUpTo({ store, carried }, run, response);
    const history = await withoutForeignMarkers(latestMessages(messages.flatMap(asResearchMessages)));
    const id = lastResearch(run);
    const research = id === undefined ? undefined : await store.get(id);
    if (research?.user !== run.user) return { history, earlierSources: [], answersQuestion: false };
    return { ...(await followUpContext({ store, carried }, research, answer)), history };
  }
  const carriedEntries = await carried.entriesBefore(request);
  const state = ResearchState.of(await readTranscript(store, run.id), request.earlierSources, carriedEntries);
  const topic = keywords(`${questionOf(request)} ${answer.text}`);
  const earlier = new Map(request.earlierSources.map((source) => [state.sources.byUrl(source.url)?.id, source.facts]));
  const facts = await keyFactsOfPages(state, topic);
  const sources = state.sources.all().slice(-MAX_SOURCES);
  const earlierSources = sources.map(({ id, url, title, snippet }): EarlierSource => {
    const known = facts.get(id) ?? earlier.get(id);
    return { url, title, snippet, ...(known === undefined ? {} : { facts: known }) };
  });
  const messages = [...request.history, ...request.conversation];
  const areAllKnown = sources.length === state.sources.size;
  // The markers of earlier answers have the numbers of this run, which its follow-up keeps unless it drops sources.
  const before = areAllKnown ? messages : await withoutForeignMarkers(messages);
  if (readRequest(run).generate !== false) {
    // The follow-up numbers these sources from 1 on.
    const numbers = new Map(sources.map(({ id }, index) => [id, index + 1]));
    const text = renumbered(answer, (id) => numbers.get(id));
    before.push({ role: 'assistant', content: [{ type: 'text', text }] });
  }
  return {
    history: latestMessages(before),
    earlierSources,
    // A plan proposed after a clarifying question is no research either: `clarify` is false once one was answered.
    answersQuestion: state.question !== undefined || (request.plan === 'propose' && request.clarify === false),
  };
}

/** The last research in the chain of responses up to and including this one. */
export function lastResearch(run: RunRecord): RunId | undefined {
  return readResearchRequest(run) ? run.id : readPlainRequest(run)?.research;
}

/**
 * The conversation up to and including the answer of a run, as it is sent to a plain model, with what its provider wants
 * back. `response` is called if the transcript does not have the answer, for example because the run was removed.
 */
export async function conversationUpTo(
  { store, carried }: { store: RunStore; carried: CarriedTranscripts },
  run: RunRecord,
  response: () => Promise<Pick<ResponseObject, 'output_text' | 'output'>>,
): Promise<TurnMessage[]> {
  const plain = readPlainRequest(run);
  const isAnswered = readRequest(run).generate !== false;
  if (plain && !isAnswered) return plain.messages;
  if (plain) {
    const entries = await readTranscript(store, run.id);
    const ended = entries.findLast((entry) => entry.t === 'answered');
    if (ended?.t === 'answered' && ended.message) return [...threadOf(plain.messages, entries), ended.message];
    const { output_text: content } = await response();
    return [...threadOf(plain.messages, entries), { role: 'assistant', content }];
  }
  const research = readResearchRequest(run);
  const before = research ? [...research.history, ...research.conversation] : [];
  const messages = before.map(asTurnMessage);
  if (research?.functions) {
    const entries = [...(await carried.entriesBefore(research)), ...(await readTranscript(store, run.id))];
    messages.push(...answeredCalls(entries, run.id));
  }
  const { output_text: content, output } = await response();
  // A research response has calls of functions, and of tools that wait for an approval, only at its end.
  const calls = output.flatMap((item): TurnToolCall[] => {
    if (item.type === 'mcp_approval_request') {
      return [{ id: item.id, name: `${item.server_label}.${item.name}`, arguments: item.arguments }];
    }
    if (item.type !== 'function_call') return [];
    const { call_id: id, name, namespace, arguments: args } = item;
    return [{ id, name: namespace === undefined ? name : `${namespace}.${name}`, arguments: args }];
  });
  if (!isAnswered) return messages;
  return [...messages, { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) }];
}

/** The calls of the client's functions that a research has the outputs of, and what the user said beside those. */
function answeredCalls(entries: readonly TranscriptEntry[], run: RunId): TurnMessage[] {
  const results = new Map(entries.flatMap((entry) => (entry.t === 'result' ? [[entry.call, entry]] : [])));
  return entries.flatMap((entry): TurnMessage[] => {
    if (entry.t === 'note' && entry.guard === 'user') return [withImages(entry)];
    if (entry.t !== 'turn') return [];
    const answered = entry.calls.flatMap((planned) => {
      if (!('call' in planned) || !planned.client) return [];
      const given = results.get(planned.call);
      return given ? [{ ...planned, id: itemId('call', run, { output: planned.call }), given }] : [];
    });
    if (answered.length === 0) return [];
    const calls = answered.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }));
    const outputs = answered.map(
      ({ id, given }): TurnMessage => ({ role: 'tool', tool_call_id: id, content: given.result }),
    );
    const images = answered.flatMap(({ name, given }) => imagesOfResult(name, given));
    return [{ role: 'assistant', content: '', tool_calls: calls }, ...outputs, ...images];
  });
}

/** The calls in the last message that a response asks approval for, by the ids of their requests. */
export async function pendingApprovals(
  run: RunRecord,
  { output, messages }: { output(): Promise<readonly OutputItem[]>; messages: readonly TurnMessage[] },
): Promise<Map<string, string>> {
  const plain = readPlainRequest(run);
  const last = messages.at(-1);
  const called = (last?.role === 'assistant' && last.tool_calls) || [];
  // Those of a research are named by their requests: see `conversationUpTo`.
  if (!plain) return new Map(called.flatMap(({ id }) => (id.startsWith('mcpr_') ? [[id, id]] : [])));
  const calls = called.filter((call) => needsApproval(call, plain));
  if (calls.length === 0) return new Map();
  const requests = (await output()).filter(({ type }) => type === 'mcp_approval_request');
  return new Map(calls.flatMap((call, n) => (requests[n] ? [[requests[n].id, call.id]] : [])));
}

/** A message of a conversation as it is sent to providers. */
export function asTurnMessage({
  role,
  content,
}: Pick<ConversationMessage, 'role'> & { content: readonly PlainPart[] }): TurnMessage {
  const texts = contentText(content);
  if (role === 'assistant') return { role, content: texts };
  if (role !== 'user') return { role: 'system', content: texts };
  return { role, content: content.every((part) => part.type === 'text') ? texts : content.map(asUserPart) };
}

function asUserPart(part: PlainPart): UserPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: part.url, ...(part.detail && { detail: part.detail }) } };
    case 'pdf':
      return { type: 'file', file: { filename: part.name, file_data: part.url } };
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
  }
}

/** A plain model's message for a research model; tool calls and results become fenced text. */
function asResearchMessages(message: TurnMessage): ConversationMessage[] {
  const messageOf = (role: ConversationMessage['role'], text: string): ConversationMessage[] =>
    text === '' ? [] : [{ role, content: [{ type: 'text', text }] }];
  switch (message.role) {
    case 'tool':
      return messageOf('assistant', `(Earlier tool result) ${fenceWithoutNonce(message.content)}`);
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(
        ({ name, arguments: args }) => `(Earlier tool call) ${name}: ${fenceWithoutNonce(args)}`,
      );
      const text = [message.content, ...calls].filter((part) => part !== '').join('\n');
      return [...messageOf('assistant', text), ...(message.images ? [imagesOf('assistant', message.images)] : [])];
    }
    case 'system':
      return messageOf('system', message.content);
    case 'user': {
      if (typeof message.content === 'string') return messageOf('user', message.content);
      return [{ role: 'user', content: message.content.map(asContentPart) }];
    }
  }
}

/** The images of a message of somebody else as one of the user: models take images from the user alone. */
export function imagesOf(role: ConversationMessage['role'], images: readonly string[]): ConversationMessage {
  const whose = role === 'assistant' ? 'that the assistant made' : 'of these instructions';
  const text = { type: 'text' as const, text: `Images ${whose}:` };
  const parts = images.map((url): ContentPart => (url === '' ? NO_IMAGE : { type: 'image', url }));
  return { role: 'user', content: [text, ...parts] };
}

/** A research model reads documents as text, which does not exist for a file that was sent to its model as it was. */
function asContentPart(part: UserPart): ContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url':
      return { type: 'image', url: part.image_url.url };
    case 'file':
      return { type: 'text', text: `(The file ${part.file.filename}, which is not shown here)` };
    case 'input_audio':
      return { type: 'text', text: '(Audio, which is not heard here)' };
  }
}

/** The latest messages within the limits. Earlier ones lose their images before their texts. */
function latestMessages(messages: readonly ConversationMessage[]): ConversationMessage[] {
  const left = { text: MAX_TEXT, images: MAX_IMAGES };
  const latest: ConversationMessage[] = [];
  for (const message of messages.slice(-MAX_MESSAGES).toReversed()) {
    const content = message.content.map((part) => {
      if (part.type === 'image') left.images -= part.url.length;
      return part.type === 'image' && left.images < 0 ? NO_IMAGE : part;
    });
    for (const part of content) if (part.type === 'text') left.text -= part.text.length;
    if (left.text < 0) break;
    latest.push({ ...message, content });
  }
  return latest.reverse();
}
const NO_IMAGE: ContentPart = { type: 'text', text: '(An image, which is not shown here)' };

/** The key facts of each page that was read, by source id: a follow-up uses them without fetching again. */
async function keyFactsOfPages(state: ResearchState, topic: ReadonlySet<string>): Promise<Map<number, string>> {
  const texts = new Map<number, string[]>();
  for (const { call, result } of findingsOf(state.entries, state)) {
    const page = parseJson(result.result);
    if (!isObject(page) || !hasSourceNumbers(call, page)) continue;
    if (typeof page.source_id !== 'number' || typeof page.content !== 'string') continue;
    texts.getOrInsertComputed(page.source_id, () => []).push(page.content);
  }
  const facts = new Map<number, string>();
  for (const [id, parts] of texts) {
    const text = parts.join('\n').slice(0, PAGE_LENGTH);
    facts.set(
      id,
      measureStep('ranking what was read', () => keyFacts(text, { about: topic, maxLength: FACTS_LENGTH })),
    );
    // Hundreds of pages in one go would block the event loop.
    await yieldToEventLoop();
  }
  return facts;
}
