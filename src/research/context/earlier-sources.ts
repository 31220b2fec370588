import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { EarlierSource } from '../run/request.ts';
import type { ContextRun } from '../run/run.ts';
import { keyFacts, keywords } from '../text/key-facts.ts';
import { questionOf } from '../text/prose.ts';
import { lastThatFit } from './fitting.ts';

/** The lengths that are tried for the text of each source, in UTF-16 code units. */
const LENGTHS = [800, 400, 200, 80, 0] as const;
const MAX_TITLE = 120;
const HEAD =
  'Sources found earlier in this conversation. They can be cited by their number without being fetched again:';

/**
 * Lists the sources of earlier runs of the conversation, with what was read there, within `tokens`. If not even their
 * names fit, only the latest are listed.
 */
export function createEarlierSources({ request, state, fence }: ContextRun): (tokens: number) => string {
  const { earlierSources } = request;
  const about = keywords(questionOf(request));
  const lineOf = (source: EarlierSource, length: number) => {
    const facts = length === 0 ? '' : `: ${keyFacts(source.facts ?? source.snippet, { about, maxLength: length })}`;
    return `[${state.sources.byUrl(source.url)?.id}] ${source.title.slice(0, MAX_TITLE)} (${source.url})${facts}`;
  };
  const listOf = (length: number) => earlierSources.map((source) => lineOf(source, length));
  return (tokens) => {
    if (earlierSources.length === 0) return '';
    const fitting = LENGTHS.values()
      .map(listOf)
      .find((lines) => estimateTokens(lines.join('\n')) <= tokens);
    const lines = fitting ?? lastThatFit(listOf(0), tokens);
    return `${HEAD}\n${fence.around(lines.join('\n'))}`;
  };
}
