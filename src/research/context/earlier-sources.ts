import { inSlices } from '../../base/load/event-loop.ts';
import { toSingleLine } from '../../base/text.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { EarlierSource } from '../run/request.ts';
import type { ContextRun } from '../run/run.ts';
import { keywords, pickFacts, type RankedText, rankText } from '../text/key-facts.ts';
import { questionOf } from '../text/prose.ts';
import { lastThatFit } from './fitting.ts';

/** The lengths that are tried for the text of each source, in UTF-16 code units. */
const LENGTHS = [800, 400, 200, 80, 0] as const;
const MAX_TITLE = 120;
const HEAD =
  'Sources found earlier in this conversation. They can be cited by their number without being fetched again:';

/** The sources of earlier runs of the conversation. */
export interface EarlierSources {
  /** Reads them, with pauses for the event loop; else the first `list` does without pauses. */
  read(): Promise<void>;
  /** Lists them with what was read there, within `tokens`. If not even their names fit, only the latest are listed. */
  list(tokens: number): string;
}

export function createEarlierSources({ request, state, fence }: ContextRun): EarlierSources {
  const { earlierSources } = request;
  const about = keywords(questionOf(request));
  const ranked = new Map<EarlierSource, RankedText>();
  const rank = (source: EarlierSource) =>
    ranked.getOrInsertComputed(source, () => rankText(source.facts ?? source.snippet, about));
  const lineOf = (source: EarlierSource, length: number) => {
    const facts = length === 0 ? '' : `: ${pickFacts(rank(source), length)}`;
    return `[${state.sources.byUrl(source.url)?.id}] ${toSingleLine(source.title).slice(0, MAX_TITLE)} (${source.url})${facts}`;
  };
  const listOf = (length: number) => earlierSources.map((source) => lineOf(source, length));
  return {
    async read() {
      if (ranked.size < earlierSources.length) await inSlices(earlierSources, rank, { stepsPerClockRead: 1 });
    },
    list(tokens) {
      if (earlierSources.length === 0) return '';
      const fitting = LENGTHS.values()
        .map(listOf)
        .find((lines) => estimateTokens(lines.join('\n')) <= tokens);
      const lines = fitting ?? lastThatFit(listOf(0), tokens);
      return `${HEAD}\n${fence.around(lines.join('\n'))}`;
    },
  };
}
