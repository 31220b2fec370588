import { parseJson } from '../../base/json.ts';
import { contentText } from '../../base/text.ts';
import { type Tool, ToolError } from '../../tools/tool.ts';
import type { ResearchRun } from '../run/run.ts';
import { urlIn } from '../text/url-in-text.ts';

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

/** Returns a test for URLs that a run has seen so far, and not only in what the model itself wrote. */
function seenUrls({ request, model, state }: UrlContext): (url: string) => boolean {
  const seen = new Set<string>();
  const urlsIn = (text: string) =>
    [...text.matchAll(/(?:https?|corpus|file):\/\/[^\s<>"\\]{1,2000}/gi)].flatMap(([raw]) => [
      normalize(raw),
      normalize(urlIn(raw, state.sources)),
    ]);
  const add = (text: string, except?: ReadonlySet<string>) => {
    for (const url of urlsIn(text)) if (!except?.has(url)) seen.add(url);
  };
  for (const message of [...request.history, ...request.conversation]) add(contentText(message.content));
  for (const { url } of request.earlierSources) add(url);
  add(`${request.instructions ?? ''}\n${model.research.instructions ?? ''}`);
  let resultsRead = 0;
  return (url) => {
    for (const { call, status, result, sources } of state.results.values().drop(resultsRead)) {
      const toolCall = state.calls.get(call);
      // Errors and some results repeat arguments, and what a program prints is the model's as well.
      if (status === 'completed' && toolCall && toolCall.name !== 'execute_python')
        add(result, new Set(urlsIn(JSON.stringify(parseJson(toolCall.arguments)) ?? '')));
      for (const { url: found } of sources) seen.add(normalize(found));
    }
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
