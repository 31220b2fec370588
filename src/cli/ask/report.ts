import { counted } from '../../base/text.ts';
import { answerPart, messageText, type UrlCitation } from '../../protocol/items.ts';
import type { IncompleteReason, ResponseObject } from '../../protocol/response.ts';
import { oneLine, printable } from '../printable.ts';

/** The answer of a response, or its refusal. */
function answerText({ output, output_text }: ResponseObject): string {
  const message = output.findLast((item) => item.type === 'message');
  return output_text !== '' || !message ? output_text : messageText(message);
}

/** The answer with its numbered sources, as text; '' if there is none. */
export function formatReport(response: ResponseObject): string {
  const text = printable(answerText(response)).trim();
  const cited = sourcesOf(response);
  const sources = cited.length > 0 && text !== '' ? `Sources\n${cited.map(formatSource).join('\n')}` : '';
  const parts = [text, formatImages(response), sources].filter((part) => part !== '');
  return parts.length > 0 ? `${parts.join('\n\n')}\n` : '';
}

/** Where the images are that the model made: a terminal cannot show them. */
function formatImages({ id, output }: ResponseObject): string {
  const images = output.filter((item) => item.type === 'image_generation_call');
  const place = `base64 in the output of research-gateway ask --resume ${id} --json`;
  return images
    .map(({ output_format: format }, index) => `[Image ${index + 1}${format ? `, ${format}` : ''}: ${place}]`)
    .join('\n');
}

/** Each cited source once, in the order of its number. */
function sourcesOf(response: ResponseObject): UrlCitation[] {
  const byUrl = new Map<string, UrlCitation>();
  for (const item of response.output) {
    if (item.type !== 'message') continue;
    for (const annotation of answerPart(item)?.annotations ?? []) {
      const known = byUrl.get(annotation.url);
      if (!known || known.index === null) byUrl.set(annotation.url, annotation);
    }
  }
  return [...byUrl.values()].sort((a, b) => (a.index ?? Infinity) - (b.index ?? Infinity));
}

function formatSource({ index: number, source_id, title, url, verified }: UrlCitation): string {
  const doubt = verified ? '' : source_id === null ? ' (never seen by this run)' : ' (could not be read)';
  return `${`[${number ?? '-'}]`.padStart(5)} ${oneLine(title) || 'untitled'} – ${oneLine(url)}${doubt}`;
}

const INCOMPLETE_NOTES: Readonly<Record<IncompleteReason, string>> = {
  max_output_tokens: 'The answer was cut: it reached the limit of output tokens.',
  content_filter: 'The answer was cut: the provider stopped it by its content filter.',
  max_tool_calls: 'The answer was written early: the limit of tool calls was reached.',
  budget: 'The answer was written early: the budget of turns, time or tokens was spent.',
  stuck: 'The answer was written early: the research got nowhere any more.',
  no_sources: 'Nothing could be retrieved: the answer has no sources.',
};

/** One line on how a run ended. */
export function formatEnd(response: ResponseObject, facts: { elapsed: string; sources: number }): string {
  const { usage, incomplete_details: incomplete, error, status, id } = response;
  const spent =
    `${facts.elapsed}, ${counted(usage.num_tool_calls, 'tool call')}, ${counted(facts.sources, 'source')}, ` +
    `${counted(usage.total_tokens, 'token')}, ${id}`;
  if (status === 'cancelled') return `Cancelled after ${spent}`;
  if (status === 'failed')
    return `Failed after ${spent}: ${oneLine(error?.message ?? 'no reason given')} (${error?.code})`;
  const lines = [
    `Completed in ${spent}`,
    ...(incomplete ? [INCOMPLETE_NOTES[incomplete.reason]] : []),
    ...formatClaims(response),
  ];
  return lines.join('\n');
}

/** How many sentences their sources support; no line if none was checked. */
function formatClaims({ claims }: ResponseObject): string[] {
  if (!claims || claims.checked + claims.unchecked + claims.unmarked === 0) return [];
  const { quoted, partial, none, unchecked, unmarked } = claims;
  return [
    `Claims: ${quoted} quoted, ${partial} partial, ${none} not found in their source, ${unchecked} unchecked, ${unmarked} without a source.`,
  ];
}
