import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { parseJson } from '../../src/base/json.ts';
import { startWebServer } from './web-server.ts';

/** One answer of a scripted search service. */
export interface ScriptedAnswer {
  status: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON, text as it is. */
  body: unknown;
  /** Leave the request unanswered until the service is closed. */
  silent?: boolean;
}

/** What a client asked a scripted service. */
export interface ScriptedRequest {
  method: string;
  path: string;
  parameters: URLSearchParams;
  headers: IncomingHttpHeaders;
  json: unknown;
}

export interface ScriptedSearch extends AsyncDisposable {
  readonly origin: string;
  readonly requests: ScriptedRequest[];
  /** Requests under way at once, at most. */
  readonly mostAtOnce: () => number;
}

/** A search service that answers as `answer` says. */
export async function startScriptedSearch(
  answer: (request: ScriptedRequest, at: number) => ScriptedAnswer,
): Promise<ScriptedSearch> {
  const requests: ScriptedRequest[] = [];
  let running = 0;
  let most = 0;
  const server = await startWebServer(async (incoming, response) => {
    running += 1;
    most = Math.max(most, running);
    response.on('close', () => {
      running -= 1;
    });
    const url = new URL(incoming.url ?? '/', 'http://search');
    const request: ScriptedRequest = {
      method: incoming.method ?? '',
      path: url.pathname,
      parameters: url.searchParams,
      headers: incoming.headers,
      json: parseJson(await text(incoming)),
    };
    requests.push(request);
    const { status, headers, body, silent } = answer(request, requests.length - 1);
    if (silent) return;
    const isText = typeof body === 'string';
    response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
    response.end(isText ? body : JSON.stringify(body));
  });
  return {
    origin: server.origin,
    requests,
    mostAtOnce: () => most,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

interface Found {
  url: string;
  title: string;
  snippet: string;
}

/** Results in the shapes in which the services send them. */
export const shapes = {
  searxng: (found: readonly Found[], unresponsive: [string, string][] = []) => ({
    query: 'q',
    number_of_results: found.length,
    results: found.map(({ url, title, snippet }, at) => ({
      url,
      title,
      content: snippet,
      publishedDate: null,
      thumbnail: null,
      engine: 'duckduckgo',
      template: 'default.html',
      parsed_url: ['https', 'example.org', '/', '', '', ''],
      img_src: '',
      priority: '',
      engines: ['duckduckgo', 'startpage'],
      positions: [at + 1, at + 2],
      score: 2 / (at + 1),
      category: 'general',
    })),
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: unresponsive,
  }),
  brave: (found: readonly Found[]) => ({
    type: 'search',
    query: {
      original: 'q',
      show_strict_warning: false,
      is_navigational: false,
      country: 'us',
      more_results_available: true,
    },
    mixed: { type: 'mixed', main: found.map((_, index) => ({ type: 'web', index, all: false })), top: [], side: [] },
    ...(found.length > 0
      ? {
          web: {
            type: 'search',
            results: found.map(({ url, title, snippet }) => ({
              title,
              url,
              is_source_local: false,
              is_source_both: false,
              description: snippet,
              profile: { name: 'Example', url, long_name: 'example.org', img: '' },
              language: 'en',
              family_friendly: true,
              type: 'search_result',
              subtype: 'generic',
              meta_url: { scheme: 'https', netloc: 'example.org', hostname: 'example.org', favicon: '', path: '' },
              age: '2 days ago',
              extra_snippets: ['One more <strong>passage</strong>.'],
            })),
            family_friendly: true,
          },
        }
      : {}),
  }),
  tavily: (found: readonly Found[]) => ({
    query: 'q',
    follow_up_questions: null,
    answer: null,
    images: [],
    results: found.map(({ url, title, snippet }, at) => ({
      url,
      title,
      content: snippet,
      score: 0.9 - at / 100,
      raw_content: null,
    })),
    response_time: 1.09,
    request_id: '123e4567-e89b-12d3-a456-426614174111',
  }),
  serper: (found: readonly Found[]) => ({
    searchParameters: { q: 'q', type: 'search', num: 10, engine: 'google' },
    organic: found.map(({ url, title, snippet }, at) => ({ title, link: url, snippet, position: at + 1 })),
    peopleAlsoAsk: [{ question: 'Why?', snippet: 'Because.', title: 'x', link: 'https://example.org/paa' }],
    relatedSearches: [{ query: 'other' }],
    credits: 1,
  }),
};
