import createClient from 'openapi-fetch';
import type { components, paths } from './generated/gateway.js';

/** A client whose types were made from `/openapi.json`: it has to compile, and to work. */

type Event = components['schemas']['Event'];

/** The same operations give events as a stream. */
function responseIn<T extends object>(data: T | undefined): Extract<T, { object: 'response' }> {
  if (data && 'object' in data) return data as Extract<T, { object: 'response' }>;
  throw new Error('no response object');
}

/** What the generated types know of a stream: every event by its type. */
function textOf(event: Event): string {
  switch (event.type) {
    case 'response.output_text.delta':
      return event.delta;
    case 'response.output_text.annotation.added':
      return event.annotation.url.slice(0, 0);
    case 'response.web_search_call.searching':
      return event.item_id.slice(0, 0);
    default:
      return '';
  }
}

export async function useTypedClient({ baseUrl, key, model }: { baseUrl: string; key: string; model: string }) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });
  const created = await client.POST('/v1/responses', {
    params: { header: { 'Idempotency-Key': 'typed-1' } },
    body: {
      model,
      input: [{ role: 'user', content: 'Hello.' }],
      background: true,
      instructions: null,
      metadata: { n: 1 },
    },
  });
  if (created.error) throw new Error(created.error.error.message);
  const { id } = responseIn(created.data);
  const streamed = await client.GET('/v1/responses/{id}', {
    params: { path: { id }, query: { stream: 'true' }, header: { 'Last-Event-ID': '0' } },
    parseAs: 'text',
  });
  const events = (streamed.data ?? '')
    .split('\n\n')
    .flatMap((frame): Event[] =>
      frame.includes('data: ') ? [JSON.parse(frame.slice(frame.indexOf('data: ') + 6))] : [],
    );
  const ended = responseIn((await client.GET('/v1/responses/{id}', { params: { path: { id } } })).data);
  const warnings: string[] = ended.warnings.map(({ code }) => code);
  const task = await client.POST('/v1/async', { body: { model, messages: [{ role: 'user', content: 'Hello.' }] } });
  const read = await client.GET('/v1/async/{id}', { params: { path: { id: task.data?.id ?? '' } } });
  const taskText: string | null | undefined = read.data?.result?.choices[0]?.message.content;
  const page = await client.GET('/v1/responses', {
    params: { query: { limit: 5, order: 'asc', status: 'completed' } },
  });
  const refused = await client.GET('/v1/responses/{id}', { params: { path: { id: 'resp_none' } } });
  return {
    text: events.map(textOf).join(''),
    output: ended.output_text,
    warnings,
    taskStatus: read.data?.status,
    taskText,
    listed: page.data?.data.map((entry) => entry.id) ?? [],
    id,
    refused: refused.error?.error.code,
  };
}
