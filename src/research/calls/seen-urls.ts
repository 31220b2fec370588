import { contentText } from '../../base/text.ts';
import { type Tool, ToolError } from '../../tools/tool.ts';
import { urlIn } from '../answer/url-in-text.ts';
import type { ResearchRun } from '../run/run.ts';

/** The parts of a run in which URLs may appear. */
type UrlContext = Pick<ResearchRun, 'request' | 'model' | 'state'>;

/**
 * Restricts the tools of a run to URLs that a result, a page of the run or a message contained (`sources.met_only`), so
 * that the model cannot leak data in a URL that it made up.
 */
export function restrictToSeenUrls(tools: ReadonlyMap<string, Tool>, run: UrlContext): ReadonlyMap<string, Tool> {
  const fetcher = tools.get('fetch_url_content');
  if (!fetcher) return tools;
  const hasSeen = seenUrls(run);
  const guarded: Tool = {
    ...fetcher,
    call: async (args, context) => {
      if (typeof args.url !== 'string' || hasSeen(args.url)) return await fetcher.call(args, context);
      const message =
        'No result, page or message of this run named this address, and only such are read. Search for it.';
      throw new ToolError('not_met', message);
    },
  };
  return new Map(tools).set(fetcher.name, guarded);
}

/** Returns a test for URLs that a run has seen so far. */
function seenUrls({ request, model, state }: UrlContext): (url: string) => boolean {
  const seen = new Set<string>();
  const add = (text: string) => {
    for (const [raw] of text.matchAll(/(?:https?|corpus|file):\/\/[^\s<>"\\]{1,2000}/gi)) {
      seen.add(normalize(raw));
      seen.add(normalize(urlIn(raw, state.sources)));
    }
  };
  for (const message of [...request.history, ...request.conversation]) add(contentText(message.content));
  for (const { url } of request.earlierSources) add(url);
  add(`${request.instructions ?? ''}\n${model.research.instructions ?? ''}`);
  let resultsRead = 0;
  return (url) => {
    for (const { result } of state.results.values().drop(resultsRead)) add(result);
    resultsRead = state.results.size;
    return seen.has(normalize(url));
  };
}

/** A URL without a final slash and without its fragment, which is not sent. Everything else has to match exactly. */
function normalize(url: string): string {
  const parsed = URL.parse(url.trim());
  if (!parsed) return url.trim();
  parsed.hash = '';
  return parsed.href.replace(/\/$/, '');
}
