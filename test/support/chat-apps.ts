/**
 * Models of chat apps that cannot be run in tests: what they send and what they show, rebuilt from their sources with
 * the rules that decide what a user sees.
 */
export interface ChatApp {
  name: string;
  /** The headers of its model list and of its questions. */
  headers: { models: Record<string, string>; chat: Record<string, string> };
  /** The body that it sends for a conversation. */
  body(of: { model: string; messages: object[] }): object;
  /** The ids that its model picker has, from the answer of `GET /v1/models`. */
  models(list: unknown): string[];
  /** What it shows of an answer. */
  read(answer: Response): Promise<Shown>;
  /** Whether it shows the sources of a chat completion; the others leave the numbers as text. */
  showsSources: boolean;
  /** Whether it shows why an answer broke off in the middle; the others just end. */
  showsFailures: boolean;
  /** Whether it shows how many tokens an answer took. */
  showsUsage: boolean;
}

export interface Shown {
  text: string;
  thoughts: string;
  /** URLs, in the order in which `[n]` opens them. */
  sources: string[];
  tokens: number;
  error: string | undefined;
}

type Json = Record<string, unknown>;

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const recordOf = (value: unknown): Json => (isRecord(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const idsOf = (list: unknown) => listOf(recordOf(list).data).map((model) => textOf(recordOf(model).id));
const nothing = (): Shown => ({ text: '', thoughts: '', sources: [], tokens: 0, error: undefined });

/** The payloads of an answer, line by line as the apps split it; a plain answer in JSON is one. */
async function* payloads(answer: Response): AsyncGenerator<Json> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of answer.body ?? []) {
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data:') && line.slice(5).trim() !== '[DONE]') yield recordOf(JSON.parse(line.slice(5)));
    }
  }
}

const firstChoice = (payload: Json) => recordOf(listOf(payload.choices)[0]);
const totalTokens = (payload: Json) => Number(recordOf(payload.usage).total_tokens ?? 0);
const messageOf = (error: unknown) => textOf(recordOf(error).message);

/** The error message of a refused request. */
async function refusal(answer: Response): Promise<Shown> {
  return { ...nothing(), error: messageOf(recordOf(await answer.json()).error) };
}

function urlsOf(annotations: unknown): string[] {
  return listOf(annotations).flatMap((annotation) => {
    const { type, url_citation: cited } = recordOf(annotation);
    const url = textOf(recordOf(cited).url);
    return type === 'url_citation' && url !== '' ? [url] : [];
  });
}

/**
 * Open WebUI's server reads the stream. It looks for errors only in frames without choices; each annotation becomes a
 * source, and its list merges sources with the same address.
 */
const openWebUi: ChatApp = {
  name: 'Open WebUI',
  headers: { models: {}, chat: { accept: '*/*', 'user-agent': 'Python/3.11 aiohttp/3.13' } },
  body: ({ model, messages }) => ({ stream: true, model, messages, stream_options: { include_usage: true } }),
  models: idsOf,
  showsSources: true,
  showsFailures: true,
  showsUsage: true,
  async read(answer) {
    if (!answer.ok) return await refusal(answer);
    const shown = nothing();
    for await (const payload of payloads(answer)) {
      if (totalTokens(payload) > 0) shown.tokens = totalTokens(payload);
      if (listOf(payload.choices).length === 0) {
        if (payload.error) shown.error = messageOf(payload.error);
        continue;
      }
      const delta = recordOf(firstChoice(payload).delta);
      for (const url of urlsOf(delta.annotations)) if (!shown.sources.includes(url)) shown.sources.push(url);
      shown.thoughts += textOf(delta.reasoning_content) || textOf(delta.reasoning);
      shown.text += textOf(delta.content);
    }
    return shown;
  },
};

/**
 * LibreChat uses LangChain over the official SDK, which throws on the first frame with `error`. It shows thoughts from
 * `reasoning_content`, and citation numbers as text.
 */
const libreChat: ChatApp = {
  name: 'LibreChat',
  headers: { models: { accept: 'application/json, text/plain, */*' }, chat: { accept: 'application/json' } },
  body: ({ model, messages }) => ({
    model,
    messages,
    user: '6650a1f2c0ffee',
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    stream: true,
    stream_options: { include_usage: true },
  }),
  models: idsOf,
  showsSources: false,
  showsFailures: true,
  showsUsage: true,
  async read(answer) {
    if (!answer.ok) return await refusal(answer);
    const shown = nothing();
    for await (const payload of payloads(answer)) {
      if (payload.error) return { ...shown, error: messageOf(payload.error) };
      if (totalTokens(payload) > 0) shown.tokens = totalTokens(payload);
      const delta = recordOf(firstChoice(payload).delta);
      shown.thoughts += textOf(delta.reasoning_content);
      shown.text += textOf(delta.content);
    }
    return shown;
  },
};

/**
 * LobeHub (LobeChat) reads only one thing of each chunk: if it has a finish reason, its annotations or else its usage;
 * otherwise thoughts before text. It searches text for `<think>`.
 */
const lobeChat: ChatApp = {
  name: 'LobeChat',
  headers: { models: { accept: 'application/json' }, chat: { accept: '*/*' } },
  body: ({ model, messages }) => ({
    model,
    messages,
    temperature: 0.5,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    user: 'user_2f',
    stream: true,
    stream_options: { include_usage: true },
  }),
  models(list) {
    // It dates each model by its time of creation, in seconds.
    for (const model of listOf(recordOf(list).data)) new Date(Number(recordOf(model).created) * 1000).toISOString();
    return idsOf(list);
  },
  showsSources: true,
  showsFailures: true,
  showsUsage: true,
  async read(answer) {
    if (!answer.ok) return await refusal(answer);
    const shown = nothing();
    for await (const payload of payloads(answer)) {
      if (payload.error) return { ...shown, error: messageOf(payload.error) };
      lobeChunk(shown, payload);
    }
    return shown;
  },
};

function lobeChunk(shown: Shown, payload: Json): void {
  const choice = firstChoice(payload);
  if (listOf(payload.choices).length === 0) {
    shown.tokens = totalTokens(payload);
    return;
  }
  const delta = recordOf(choice.delta);
  if (choice.finish_reason) {
    const content = textOf(delta.content);
    const cited = urlsOf(delta.annotations);
    if (content !== '') shown.text += content;
    else if (cited.length > 0) shown.sources = cited;
    else if (payload.usage) shown.tokens = totalTokens(payload);
    else if (payload.citations) shown.sources = listOf(payload.citations).map(textOf);
    return;
  }
  if (typeof delta.reasoning_content === 'string' && delta.reasoning_content !== '') {
    shown.thoughts += delta.reasoning_content;
    return;
  }
  const [before = '', ...after] = textOf(delta.content).split('</think>');
  if (after.length === 0) shown.text += before.replaceAll('<think>', '');
  else {
    shown.thoughts += before;
    shown.text += after.join('</think>');
  }
}

/**
 * NextChat runs in the browser. It accepts JSON although it requests a stream, shows an answer of any other type as is,
 * puts thoughts into a quotation before the text, and stops silently if a stream breaks off.
 */
const nextChat: ChatApp = {
  name: 'NextChat',
  headers: { models: { accept: 'application/json' }, chat: { accept: 'application/json' } },
  body: ({ model, messages }) => ({
    messages,
    stream: true,
    model,
    temperature: 0.5,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_p: 1,
  }),
  // Its models are named in its settings.
  models: idsOf,
  showsSources: false,
  showsFailures: false,
  showsUsage: false,
  async read(answer) {
    if (!answer.ok) return { ...nothing(), error: JSON.stringify(await answer.json()) };
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
      return { ...nothing(), error: await answer.text() };
    }
    const shown = nothing();
    for await (const payload of payloads(answer)) {
      const delta = recordOf(firstChoice(payload).delta);
      const thought = textOf(delta.reasoning_content);
      if (thought !== '') shown.thoughts += thought;
      else shown.text += textOf(delta.content);
    }
    return shown;
  },
};

export const CHAT_APPS: readonly ChatApp[] = [openWebUi, libreChat, lobeChat, nextChat];
