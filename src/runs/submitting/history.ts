import { isObject, parseJson } from '../../base/json.ts';
import { step, yieldToEventLoop } from '../../base/load/event-loop.ts';
import { textAmong } from '../../base/text.ts';
import { threadOf } from '../../plain/turns.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { ContentPart, PlainPart } from '../../protocol/requests/content-parts.ts';
import { asksFirst } from '../../research/calls/approvals.ts';
import { findingsOf } from '../../research/context/findings.ts';
import type { ConversationMessage, EarlierSource, TakenOver } from '../../research/run/request.ts';
import { ResearchState } from '../../research/run/state.ts';
import { fencePlainly } from '../../research/text/fence.ts';
import { keyFacts, keywords } from '../../research/text/key-facts.ts';
import { questionOf } from '../../research/text/prose.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import type { TurnMessage, UserPart } from '../../upstream/turn.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import { readPlainRequest, readRequest, readResearchRequest } from '../stored/stored-request.ts';
import { readTranscript } from '../stored/stored-transcript.ts';

/** Sources that a follow-up takes over at most: the latest of a long chain. */
const MAX_SOURCES = 200;
/** Key facts of one page, in UTF-16 code units. */
const FACTS_LENGTH = 800;
/** What of one page is looked through for them, in UTF-16 code units. */
const PAGE_LENGTH = 200_000;
/** Messages that a follow-up takes over at most, and their length together, in UTF-16 code units. */
const MAX_MESSAGES = 2000;
const MAX_LENGTH = 4_000_000;

/**
 * What a follow-up of a completed run takes over. Each stored request holds its own history already, so a chain is
 * followed in one step and outlives the deletion of its earlier runs.
 */
export async function takenOver(
  { store, carried }: { store: RunStore; carried: CarriedTranscripts },
  run: RunRecord,
  answer: string,
): Promise<TakenOver> {
  const request = readResearchRequest(run);
  if (!request) {
    return {
      history: latest((await conversationUpTo(store, run, async () => ({ output_text: answer }))).flatMap(toldInWords)),
      earlierSources: [],
      askedBack: false,
    };
  }
  const isAnswered = readRequest(run).generate !== false;
  const answered: ConversationMessage[] = isAnswered
    ? [{ role: 'assistant', content: [{ type: 'text', text: answer }] }]
    : [];
  const before = await carried.before(request);
  const state = ResearchState.of(await readTranscript(store, run.id), request.earlierSources, before);
  const about = keywords(`${questionOf(request)} ${answer}`);
  const earlier = new Map(request.earlierSources.map((source) => [state.sources.byUrl(source.url)?.id, source.facts]));
  const facts = await readPages(state, about);
  const sources = state.sources.all().map(({ id, url, title, snippet }): EarlierSource => {
    const read = facts.get(id) ?? earlier.get(id);
    return { url, title, snippet, ...(read === undefined ? {} : { facts: read }) };
  });
  return {
    history: latest([...request.history, ...request.conversation, ...answered]),
    earlierSources: sources.slice(-MAX_SOURCES),
    // A plan that was proposed in answer to a question is no research: `clarify` is false where one was answered.
    askedBack: state.question !== undefined || (request.plan === 'propose' && request.clarify === false),
  };
}

/**
 * The conversation up to and with the answer of a run, as a plain model is sent it: what its provider wants back stays.
 * `response` is asked for where the transcript does not tell the answer, as that of a run that was removed meanwhile.
 */
export async function conversationUpTo(
  store: RunStore,
  run: RunRecord,
  response: () => Promise<{ output_text: string }>,
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
  const { output_text: content } = await response();
  return isAnswered ? [...messages, { role: 'assistant', content }] : messages;
}

/** The calls that a response asks approval for, the last of its conversation, by the ids of their requests. */
export async function askedIn(
  run: RunRecord,
  { output, messages }: { output(): Promise<readonly OutputItem[]>; messages: readonly TurnMessage[] },
): Promise<Map<string, string>> {
  const plain = readPlainRequest(run);
  const last = messages.at(-1);
  const called = (last?.role === 'assistant' && last.tool_calls) || [];
  const calls = called.filter(({ name }) => plain && asksFirst(name, plain));
  if (calls.length === 0) return new Map();
  const requests = (await output()).filter(({ type }) => type === 'mcp_approval_request');
  return new Map(calls.flatMap((call, n) => (requests[n] ? [[requests[n].id, call.id]] : [])));
}

/** A message of a conversation as providers are sent it. */
export function asTurnMessage({
  role,
  content,
}: Pick<ConversationMessage, 'role'> & { content: readonly PlainPart[] }): TurnMessage {
  const texts = textAmong(content);
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

/** What was said to and by a plain model, for a research model: calls and results are told in words, as data. */
function toldInWords(message: TurnMessage): ConversationMessage[] {
  const said = (role: ConversationMessage['role'], text: string): ConversationMessage[] =>
    text === '' ? [] : [{ role, content: [{ type: 'text', text }] }];
  switch (message.role) {
    case 'tool':
      return said('assistant', `(Earlier tool result) ${fencePlainly(message.content)}`);
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(
        ({ name, arguments: args }) => `(Earlier tool call) ${name}: ${fencePlainly(args)}`,
      );
      return said('assistant', [message.content, ...calls].filter((text) => text !== '').join('\n'));
    }
    case 'system':
      return said('system', message.content);
    case 'user': {
      if (typeof message.content === 'string') return said('user', message.content);
      return [{ role: 'user', content: message.content.map(asContentPart) }];
    }
  }
}

/** A research model reads documents as text, which nobody has of one that went to its model as it was. */
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

function latest(messages: readonly ConversationMessage[]): ConversationMessage[] {
  let length = 0;
  const tooMuch = messages.findLastIndex((message) => {
    length += JSON.stringify(message.content).length;
    return length > MAX_LENGTH;
  });
  return messages.slice(Math.max(tooMuch + 1, messages.length - MAX_MESSAGES));
}

/** What was read of each source, reduced to key facts, by source id: a follow-up uses it without fetching again. */
async function readPages(state: ResearchState, about: ReadonlySet<string>): Promise<Map<number, string>> {
  const texts = new Map<number, string[]>();
  for (const { result } of findingsOf(state.entries, state)) {
    const page = parseJson(result.result);
    if (!isObject(page) || typeof page.source_id !== 'number' || typeof page.content !== 'string') continue;
    const parts = texts.get(page.source_id) ?? [];
    texts.set(page.source_id, [...parts, page.content]);
  }
  const facts = new Map<number, string>();
  for (const [id, parts] of texts) {
    const text = parts.join('\n').slice(0, PAGE_LENGTH);
    facts.set(
      id,
      step('ranking what was read', () => keyFacts(text, { about, maxLength: FACTS_LENGTH })),
    );
    // Hundreds of pages at once would hold up everybody.
    await yieldToEventLoop();
  }
  return facts;
}
