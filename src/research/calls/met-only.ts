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
  const met = new MetAddresses(run);
  const guarded: Tool = {
    ...fetcher,
    call: async (args, context) => {
      if (typeof args.url !== 'string' || met.has(args.url)) return await fetcher.call(args, context);
      const message =
        'No result, page or message of this run named this address, and only such are read. Search for it.';
      throw new ToolError('not_met', message);
    },
  };
  return new Map(tools).set(fetcher.name, guarded);
}

class MetAddresses {
  readonly #run: MetRun;
  readonly #met = new Set<string>();
  /** Results whose addresses are known. */
  #seen = 0;

  constructor(run: MetRun) {
    this.#run = run;
    const { request, model } = run;
    for (const message of [...request.history, ...request.conversation]) this.#add(textAmong(message.content));
    for (const { url } of request.earlierSources) this.#add(url);
    this.#add(`${request.instructions ?? ''}\n${model.research.instructions ?? ''}`);
  }

  has(url: string): boolean {
    const { results } = this.#run.state;
    for (const { result } of results.values().drop(this.#seen)) this.#add(result);
    this.#seen = results.size;
    return this.#met.has(exactly(url));
  }

  #add(text: string): void {
    for (const [raw] of text.matchAll(/(?:https?|corpus|file):\/\/[^\s<>"\\]{1,2000}/gi)) {
      this.#met.add(exactly(raw));
      this.#met.add(exactly(urlIn(raw, this.#run.state.sources)));
    }
  }
}

/** Nothing but the fragment, which is not sent, and a last slash may differ. */
function exactly(url: string): string {
  const parsed = URL.parse(url.trim());
  if (!parsed) return url.trim();
  parsed.hash = '';
  return parsed.href.replace(/\/$/, '');
}
