import { z } from 'zod';
import { isObject, parseJson } from '../base/json.ts';
import type { DemoMessage } from './request.ts';

/** Reads the state of the research from the messages of a request. */

/** A document in a tool result. `read`: its whole text was fetched. */
export interface FoundDocument {
  url: string;
  title: string;
  text: string;
  sourceId: number;
  read: boolean;
}

/** The state of the research since the question. */
export type Conversation = ReturnType<typeof readChat>;

/** Recognises messages of a research loop that ask for the answer to the question before them, or for its rest. */
const ASKS_FOR_ANSWER =
  /\b(final answer|answer to my question|write (the|your) (answer|report)|your answer was interrupted)\b/i;

/** Reads the messages of a request. */
export function readChat(messages: readonly DemoMessage[]) {
  const start = findQuestion(messages);
  const after = messages.slice(start + 1);
  const rounds = after.map((message) => message.tool_calls).filter((calls) => calls.length > 0);
  const argumentsOf = (wanted: string) =>
    rounds.flat().flatMap(({ name, arguments: text }) => {
      const args = name === wanted ? parseJson(text) : undefined;
      return isObject(args) ? [args] : [];
    });
  const searches = argumentsOf('web_search');
  return {
    question: questionAt(messages, start),
    /** Assistant turns with tool calls. */
    rounds: rounds.length,
    searches: searches.length,
    /** Whether the last of these turns searched, so that its results may still have to be read. */
    justSearched: rounds.at(-1)?.some((call) => call.name === 'web_search') ?? false,
    queries: searches.flatMap(({ queries }) => (Array.isArray(queries) ? queries.map(String) : [])),
    fetched: argumentsOf('fetch_url_content').map(({ url }) => String(url)),
    /** In the order in which they were found; with the whole text if one was read. */
    documents: [...findingsIn(after), ...readDocuments(after)],
    toolResults: after.filter((message) => message.role === 'tool').length,
  };
}

/**
 * The index of the question: the last user message that is neither a note after the question or after tool results, nor a
 * request to write the answer; -1 without a user message.
 */
function findQuestion(messages: readonly DemoMessage[]): number {
  const isNote = ({ content }: DemoMessage, index: number) =>
    ['tool', 'user'].includes(messages[index - 1]?.role ?? '') || ASKS_FOR_ANSWER.test(content);
  const last = messages.findLastIndex((message, index) => message.role === 'user' && !isNote(message, index));
  return last === -1 ? messages.findIndex(({ role }) => role === 'user') : last;
}

/** How items of the demo model's plans begin: stop words, so that a plan is a question about its subjects. */
export const PLAN_ITEM = 'What there is to tell about';

/** The question in a message. If it approves a plan of the demo model: that plan, as the message changes it. */
function questionAt(messages: readonly DemoMessage[], index: number): string {
  const text = messages[index]?.content.trim() ?? '';
  const before = messages[index - 1];
  if (before?.role !== 'assistant' || !before.content.includes(PLAN_ITEM)) return text;
  return text.includes('1. ') ? text.slice(text.indexOf('1. ')) : before.content;
}

/** What was found in turns that the request no longer has: notes after the question, with a line for each source. */
function findingsIn(messages: readonly DemoMessage[]): FoundDocument[] {
  const end = messages.findIndex(({ role }) => role !== 'user');
  const notes = messages.slice(0, end === -1 ? messages.length : end).map(({ content }) => content);
  const lines = notes.join('\n').matchAll(/^(?:- )?\[(\d+)\] ([^:\n]+): (.+)$/gm);
  return [...lines].map(([, id, title = '', text = '']) => {
    return { url: `source ${id}`, title, text, sourceId: Number(id), read: true };
  });
}

function readDocuments(messages: readonly DemoMessage[]): FoundDocument[] {
  const documents = new Map<string, FoundDocument>();
  for (const found of messages.filter(({ role }) => role === 'tool').flatMap(({ content }) => documentsIn(content))) {
    const known = documents.get(found.url);
    if (!known || (found.read && !known.read)) documents.set(found.url, found);
  }
  return [...documents.values()];
}

/** The documents in a tool result: JSON of `web_search` or `fetch_url_content`, fenced or not. */
function documentsIn(content: string): FoundDocument[] {
  const result = parseJson(content.slice(content.indexOf('{'), content.lastIndexOf('}') + 1));
  const { data } = toolResult.safeParse(result);
  return (data?.results ?? [result]).flatMap((entry) => {
    const { data: found } = foundDocument.safeParse(entry);
    if (!found) return [];
    const { url, title, source_id: sourceId, content: whole, snippet } = found;
    return [{ url, title: titleOf(title, url), text: whole ?? snippet, sourceId, read: whole !== undefined }];
  });
}

const toolResult = z.object({ results: z.array(z.unknown()).optional() });
const foundDocument = z.object({
  url: z.string(),
  source_id: z.number().min(1),
  title: z.string().catch(''),
  content: z.string().optional().catch(undefined),
  snippet: z.string().catch(''),
});

function titleOf(title: string, url: string): string {
  return title.replace(/[[\]\s]+/g, ' ').trim() || url.replace(/^.*\//, '');
}
