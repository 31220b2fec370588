import { isObject, parseJson } from '../base/json.ts';
import type { UrlCitation } from '../protocol/items.ts';
import { AnswerScanner } from '../research/answer/answer-scanner.ts';
import { citation } from '../research/answer/citation.ts';
import { UNCHECKED } from '../research/claims/claim-checker.ts';
import type { Source, SourceRegistry } from '../research/run/sources.ts';
import type { Finish } from '../research/turns.ts';
import type { TurnMessage, TurnTool } from '../upstream/turn.ts';

/** Tools whose results are sources. */
const CITED = new Set(['file_search', 'web_search', 'fetch_url_content']);
const MARK =
  ' Write the source_id of what you use in square brackets, such as [2], behind each statement that rests on it.';

/** A tool definition that, for tools with sources, also asks the model to cite them. */
export function withCitationHint<T extends TurnTool>(tool: T): T {
  return CITED.has(tool.name) ? { ...tool, description: tool.description + MARK } : tool;
}

/** The sources of earlier responses of a conversation, with the numbers that its texts cite. */
export function sourcesInThread(messages: readonly TurnMessage[]): Source[] {
  const names = new Map<string, string>();
  return messages.flatMap((message) => {
    if (message.role === 'assistant') for (const { id, name } of message.tool_calls ?? []) names.set(id, name);
    if (message.role !== 'tool' || !CITED.has(names.get(message.tool_call_id) ?? '')) return [];
    const result = parseJson(message.content);
    const found = isObject(result) && Array.isArray(result.results) ? result.results : [result];
    return found.flatMap((item: unknown): Source[] => {
      if (!isObject(item) || typeof item.url !== 'string' || !Number.isSafeInteger(item.source_id)) return [];
      const title = typeof item.title === 'string' ? item.title : '';
      return [{ id: Number(item.source_id), url: item.url, title, snippet: '', kind: 'read' }];
    });
  });
}

/** The citations of the markers in a complete text, in order. The text stays as the model wrote it. */
export function citationsIn(text: string, sources: SourceRegistry): UrlCitation[] {
  if (sources.size === 0) return [];
  const scanner = new AnswerScanner((raw) => raw.length);
  let at = 0;
  return [...scanner.push(text), ...scanner.end()].flatMap((part) => {
    const range = { start_index: at, end_index: at + part.text.length };
    at = range.end_index;
    if (part.type !== 'marker') return [];
    return part.numbers.flatMap((number) => {
      const source = sources.byId(number);
      return source ? [citation(range, { source, index: number }, UNCHECKED)] : [];
    });
  });
}

/** The citations of pages that the provider found itself, in the last message. This run has read none of them. */
export function providersCitations(
  { citations = [], message }: Pick<Finish, 'citations' | 'message'>,
  written: { text: string; messageStart: number },
): UrlCitation[] {
  const length = written.text.length - written.messageStart;
  const turnStart = length - message.content.length;
  return citations.flatMap(({ start, end, url, title }) => {
    const range = { start_index: turnStart + start, end_index: turnStart + end };
    if (range.start_index < 0 || range.end_index > length) return [];
    return [
      {
        type: 'url_citation' as const,
        ...range,
        url,
        title,
        index: null,
        source_id: null,
        verified: false,
        ...UNCHECKED,
      },
    ];
  });
}
