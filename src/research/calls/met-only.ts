import { textAmong } from '../../base/text.ts';
import { type Tool, ToolError } from '../../tools/tool.ts';
import { urlIn } from '../answer/url-in-text.ts';
import type { ResearchRun } from '../run/run.ts';

/** What decides which addresses a run has met. */
type MetRun = Pick<ResearchRun, 'request' | 'model' | 'state'>;

/**
 * The tools of a run that may read only what a result, a page of the run or a message named (`sources.met_only`): an
 * address that the model made up carries nothing away.
 */
export function metOnly(tools: ReadonlyMap<string, Tool>, run: MetRun): ReadonlyMap<string, Tool> {
  const fetcher = tools.get('fetch_url_content');
  if (!fetcher) return tools;
  const hasMet = metBy(run);
  const guarded: Tool = {
    ...fetcher,
    call: async (args, context) => {
      if (typeof args.url !== 'string' || hasMet(args.url)) return await fetcher.call(args, context);
      const message =
        'No result, page or message of this run named this address, and only such are read. Search for it.';
      throw new ToolError('not_met', message);
    },
  };
  return new Map(tools).set(fetcher.name, guarded);
}

/** Tells which addresses a run has met so far. */
function metBy({ request, model, state }: MetRun): (url: string) => boolean {
  const met = new Set<string>();
  const add = (text: string) => {
    for (const [raw] of text.matchAll(/(?:https?|corpus|file):\/\/[^\s<>"\\]{1,2000}/gi)) {
      met.add(exactly(raw));
      met.add(exactly(urlIn(raw, state.sources)));
    }
  };
  for (const message of [...request.history, ...request.conversation]) add(textAmong(message.content));
  for (const { url } of request.earlierSources) add(url);
  add(`${request.instructions ?? ''}\n${model.research.instructions ?? ''}`);
  /** Results whose addresses are known. */
  let seen = 0;
  return (url) => {
    for (const { result } of state.results.values().drop(seen)) add(result);
    seen = state.results.size;
    return met.has(exactly(url));
  };
}

/** Nothing but the fragment, which is not sent, and a last slash may differ. */
function exactly(url: string): string {
  const parsed = URL.parse(url.trim());
  if (!parsed) return url.trim();
  parsed.hash = '';
  return parsed.href.replace(/\/$/, '');
}
