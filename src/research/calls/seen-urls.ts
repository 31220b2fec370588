import { parseJson } from '../../base/json.ts';
import { contentText, percentDecode } from '../../base/text.ts';
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
  /** Adds the URLs of a text. `said`: what the model wrote, which tools repeat. */
  const add = (text: string, said?: string) => {
    for (const [raw] of text.matchAll(URLS)) {
      if (said !== undefined && repeats(raw, said)) continue;
      seen.add(normalize(raw)).add(normalize(urlIn(raw, state.sources)));
    }
  };
  /** The words of a call without the URLs in it that the run has met. */
  const invented = (args: string): string =>
    wordsIn(parseJson(args)).replace(URLS, (raw) => (seen.has(normalize(raw)) ? ' ' : raw));
  for (const message of [...request.history, ...request.conversation]) add(contentText(message.content));
  for (const { url } of request.earlierSources) add(url);
  add(`${request.instructions ?? ''}\n${model.research.instructions ?? ''}`);
  let resultsRead = 0;
  let allSaid = '';
  return (url) => {
    for (const { call, status, result, sources } of state.results.values().drop(resultsRead)) {
      const toolCall = state.calls.get(call);
      if (!toolCall) continue;
      const said = lettersOf(invented(toolCall.arguments));
      allSaid = `${allSaid} ${said}`.slice(-MAX_SAID);
      const isOwn = OWN_TOOLS.has(toolCall.name);
      for (const { url: found } of sources) if (isOwn || !repeats(found, allSaid)) seen.add(normalize(found));
      // Errors and some results repeat arguments, and what a program prints is the model's as well. A page cannot know
      // what was said in other calls; other tools may have kept it.
      if (status === 'completed' && toolCall.name !== 'execute_python')
        add(result, toolCall.name === 'fetch_url_content' ? said : allSaid);
    }
    resultsRead = state.results.size;
    return seen.has(normalize(url));
  };
}

/** How much of what the model said is compared with each URL, in UTF-16 code units: more would hold the event loop. */
const MAX_SAID = 256 * 1024;

const URLS = /(?:https?|corpus|file):\/\/[^\s<>"\\]{1,2000}/gi;
/** Tools whose sources are found by services and on pages, whatever the model said. */
const OWN_TOOLS = new Set(['web_search', 'fetch_url_content', 'file_search']);

/**
 * Whether a URL is only what the model said: the same, its beginning, or cleaned. What a tool writes behind it, from the
 * first mark that seldom stands in an address, does not count.
 */
function repeats(url: string, said: string): boolean {
  const [head = ''] = url.split(/[[\](){}'`|*,;!<>\u2018-\u201f\u2026\u3000-\u303f«»‹›]/u, 1);
  const letters = lettersOf(head);
  return letters !== '' && said.includes(letters);
}

/** The letters and digits of a text, without the scheme of addresses: what is left of it after any cleaning. */
function lettersOf(text: string): string {
  const plain = text.replaceAll(/&(?:amp|#0*38|#x0*26);/gi, '&').replaceAll(/(?:https?|corpus|file):\/\//gi, ' ');
  const decoded = plain.replaceAll(/(?:%[\da-f]{2})+/gi, (code) => percentDecode(code) ?? code);
  return decoded.toLowerCase().replaceAll(/[^\p{L}\p{N} ]+/gu, '');
}

/** All texts in the arguments of a call. */
function wordsIn(value: unknown): string {
  if (typeof value === 'string') return `${value} `;
  return typeof value === 'object' && value !== null ? Object.values(value).map(wordsIn).join('') : '';
}

/** A URL without a final slash and without its fragment, which is not sent. Everything else has to match exactly. */
function normalize(url: string): string {
  const parsed = URL.parse(url.trim());
  if (!parsed) return url.trim();
  parsed.hash = '';
  return parsed.href.replace(/\/$/, '');
}
