import { isObject, parseJson } from '../base/json.ts';
import type { DemoMessage } from './request.ts';

/** What the demo model reads in the messages that it gets. */

/** A document that a tool showed. `read`: its whole text was fetched. */
export interface FoundDocument {
  url: string;
  title: string;
  text: string;
  sourceId: number;
  read: boolean;
}

/** The state of the research, as the messages show it. */
export interface Conversation {
  question: string;
  /** Assistant turns with tool calls since the question. */
  rounds: number;
  /** Queries that were searched for, and addresses that were fetched, since the question. */
  queries: string[];
  fetched: string[];
  searches: number;
  /** Whether the last of these turns searched, so that what it found is still to be read. */
  justSearched: boolean;
  /** Documents in the order in which they were met; of one that was read, the whole text. */
  documents: FoundDocument[];
  /** Whether any tool answered since the question. */
  toolResults: number;
}

/** A last message of a research loop, which asks for the answer to the question before it. */
const ASKS_FOR_ANSWER = /\b(final answer|answer to my question|write (the|your) (answer|report))\b/i;

/** A message that asks to go on with an answer that was cut. */
export const ASKS_TO_CONTINUE =
  /\b(interrupted|cut off|continue (it |your answer )?(exactly )?where|continue exactly)\b/i;

/** Reads the messages of a request. */
export function readConversation(messages: readonly DemoMessage[]): Conversation {
  const start = findQuestion(messages);
  const after = messages.slice(start + 1);
  const calls = after.flatMap((message) => message.tool_calls);
  const argumentsOf = (name: string) =>
    calls.filter((call) => call.name === name).map((call) => parseJson(call.arguments));
  const searches = argumentsOf('web_search');
  const lastRound = after.findLast((message) => message.tool_calls.length > 0);
  return {
    question: messages[start]?.content.trim() ?? '',
    rounds: after.filter((message) => message.tool_calls.length > 0).length,
    searches: searches.length,
    justSearched: lastRound?.tool_calls.some((call) => call.name === 'web_search') ?? false,
    queries: searches.flatMap((args) =>
      isObject(args) && Array.isArray(args.queries) ? args.queries.map(String) : [],
    ),
    fetched: argumentsOf('fetch_url_content').flatMap((args) => (isObject(args) ? [String(args.url)] : [])),
    documents: readDocuments(after),
    toolResults: after.filter((message) => message.role === 'tool').length,
  };
}

/**
 * The index of the question: the last user message that is neither a note that follows tool results nor a request to
 * write the answer down; -1 where there is none.
 */
function findQuestion(messages: readonly DemoMessage[]): number {
  let question = -1;
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user') continue;
    const note = messages[index - 1]?.role === 'tool' || ASKS_FOR_ANSWER.test(message.content);
    if (question === -1 || !note) question = index;
  }
  return question;
}

function readDocuments(messages: readonly DemoMessage[]): FoundDocument[] {
  const documents = new Map<string, FoundDocument>();
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    for (const found of documentsIn(message.content)) {
      const known = documents.get(found.url);
      if (known === undefined) documents.set(found.url, found);
      else if (found.read && !known.read) Object.assign(known, found);
    }
  }
  return [...documents.values()];
}

/** The documents in a tool result: JSON of `web_search` or `fetch_url_content`, fenced or not. */
function documentsIn(content: string): FoundDocument[] {
  const json = content.slice(content.indexOf('{'), content.lastIndexOf('}') + 1);
  const result = parseJson(json);
  if (!isObject(result)) return [];
  const entries = Array.isArray(result.results) ? result.results : [result];
  return entries.flatMap((entry) => {
    if (!isObject(entry) || typeof entry.url !== 'string' || typeof entry.source_id !== 'number') return [];
    const { url, title, source_id: sourceId, content: whole, snippet } = entry;
    if (sourceId < 1) return [];
    const text = typeof whole === 'string' ? whole : typeof snippet === 'string' ? snippet : '';
    return [{ url, title: titleOf(title, url), text, sourceId, read: typeof whole === 'string' }];
  });
}

function titleOf(title: unknown, url: string): string {
  const text = typeof title === 'string' ? title.replace(/[[\]\s]+/g, ' ').trim() : '';
  return text === '' ? url.replace(/^.*\//, '') : text;
}
