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

/** A request to a scripted service. */
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

/** Starts a search service that answers by a function. */
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
  /** As the service writes it. */
  date?: string;
}

/** Results in the shapes in which the services send them. */
export const shapes = {
  searxng: (found: readonly Found[], unresponsive: [string, string][] = []) => ({
    query: 'q',
    number_of_results: found.length,
    results: found.map(({ url, title, snippet, date = null }, at) => ({
      url,
      title,
      content: snippet,
      publishedDate: date,
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
            results: found.map(({ url, title, snippet, date }) => ({
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
              ...(date ? { age: 'March 5, 2024', page_age: date } : {}),
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
    results: found.map(({ url, title, snippet, date }, at) => ({
      url,
      title,
      content: snippet,
      ...(date ? { published_date: date } : {}),
      score: 0.9 - at / 100,
      raw_content: null,
    })),
    response_time: 1.09,
    request_id: '123e4567-e89b-12d3-a456-426614174111',
  }),
  serper: (found: readonly Found[]) => ({
    searchParameters: { q: 'q', type: 'search', num: 10, engine: 'google' },
    organic: found.map(({ url, title, snippet, date }, at) => ({
      title,
      link: url,
      snippet,
      ...(date ? { date } : {}),
      position: at + 1,
    })),
    peopleAlsoAsk: [{ question: 'Why?', snippet: 'Because.', title: 'x', link: 'https://example.org/paa' }],
    relatedSearches: [{ query: 'other' }],
    credits: 1,
  }),
  exa: (found: readonly Found[]) => ({
    requestId: 'b5947044c4b78efa9552a7c89b306d95',
    resolvedSearchType: 'neural',
    results: found.map(({ url, title, snippet, date = null }) => ({
      title,
      url,
      id: url,
      publishedDate: date,
      author: 'Ada Marsh',
      image: 'https://example.org/preview.png',
      favicon: 'https://example.org/favicon.ico',
      highlights: [snippet],
      highlightScores: [0.46],
    })),
    costDollars: { total: 0.005, search: { neural: 0.005 } },
  }),
  google: (found: readonly Found[]) => ({
    kind: 'customsearch#search',
    url: { type: 'application/json', template: 'https://www.googleapis.com/customsearch/v1?q={searchTerms}' },
    queries: { request: [{ title: 'q', totalResults: String(found.length), count: 10, startIndex: 1 }] },
    context: { title: 'Engine' },
    searchInformation: { searchTime: 0.2, totalResults: String(found.length) },
    ...(found.length > 0
      ? {
          items: found.map(({ url, title, snippet, date }) => ({
            kind: 'customsearch#result',
            title,
            htmlTitle: `<b>${title}</b>`,
            link: url,
            displayLink: 'example.org',
            snippet,
            htmlSnippet: snippet,
            formattedUrl: url,
            pagemap: {
              cse_thumbnail: [{ src: 'https://example.org/t.png', width: '300', height: '168' }],
              metatags: [{ 'og:image': 'x', ...(date ? { 'article:published_time': date } : {}) }],
            },
          })),
        }
      : {}),
  }),
  jina: (found: readonly Found[]) => ({
    code: 200,
    status: 20000,
    data: found.map(({ url, title, snippet, date }) => ({
      title,
      url,
      description: snippet,
      ...(date ? { date } : {}),
      content: '',
      usage: { tokens: 1000 },
    })),
    meta: { usage: { tokens: 10000 } },
  }),
  kagi: (found: readonly Found[]) => ({
    meta: { trace: '69c3f5c4168f66b860e951c585550f1c', node: 'us-central1', ms: 213 },
    data: {
      ...(found.length > 0
        ? {
            search: found.map(({ url, title, snippet, date }) => ({
              url,
              title,
              snippet,
              ...(date ? { time: date } : {}),
              image: { url: 'https://example.org/t.jpg', height: 1024, width: 1548 },
              props: { sort_group_id: 'example.org', language: 'en', language_probability: 0.95 },
            })),
          }
        : {}),
      video: [{ url: 'https://example.org/video', title: 'A video', snippet: 'Not a page', props: {} }],
      related_search: [{ url: '/search?q=other', title: 'other', props: { question: 'other' } }],
    },
  }),
  you: (found: readonly Found[]) => ({
    results: {
      web: found.map(({ url, title, snippet, date }) => ({
        url,
        title,
        description: snippet,
        snippets: ['One more <strong>passage</strong>.'],
        thumbnail_url: 'https://example.org/t.jpg',
        ...(date ? { page_age: date } : {}),
        authors: ['Ada Marsh'],
        favicon_url: 'https://example.org/favicon',
      })),
    },
    metadata: { request_uuid: '942ccbdd-7705-4d9c-9d37-4ef386658e90', query: 'q', latency: 0.123 },
  }),
};
