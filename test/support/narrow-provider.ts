import type { ProviderRequest } from './scripted-provider.ts';
import {
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  status,
  type TurnScript,
  turn,
} from './scripted-provider.ts';
import { type SeenRequest, seenRequest } from './seen-request.ts';

export interface NarrowProviderOptions {
  /** The context, in tokens of the provider's own count, that a request and its output share. */
  contextTokens: number;
  /** What the model says. It knows only what it is sent. */
  model: (request: SeenRequest, n: number) => TurnScript;
  /** Whether turns report their usage. */
  usage?: boolean;
  /** Takes requests whose output alone would not fit; many providers refuse them. */
  cutsOutput?: boolean;
}

/** A provider over real HTTP that enforces its context window, and its token counts. */
export interface NarrowProvider extends AsyncDisposable {
  provider: ScriptedProvider;
  /** Requests that were refused for their length. */
  refused: number;
  /** Tokens of the requests that were taken, and of what was said. */
  counted: { input: number; output: number };
  /** The requests that were taken, as the model saw them. */
  seen: SeenRequest[];
  /** The largest request that was taken, in tokens. */
  largest: number;
}

/** How providers report that a request exceeds the context window, with their statuses. */
const REFUSALS: readonly ((limit: number, asked: number) => Script)[] = [
  (limit, asked) =>
    status(400, {
      body: {
        error: {
          message: `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${asked} tokens. Please reduce the length of the messages.`,
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
    }),
  (limit, asked) => status(400, { message: `prompt is too long: ${asked} tokens > ${limit} maximum` }),
  (limit, asked) =>
    status(400, {
      message: `The input token count (${asked}) exceeds the maximum number of tokens allowed (${limit}).`,
    }),
  (limit, asked) =>
    status(422, {
      message: `Prompt contains ${asked} tokens and 0 draft tokens, too large for model with ${limit} maximum context length`,
    }),
  () => status(413, { body: '<html><title>413 Request Entity Too Large</title></html>' }),
];

/** Starts a provider with a small context window. */
export async function startNarrowProvider(options: NarrowProviderOptions): Promise<NarrowProvider> {
  const { contextTokens, usage = true, cutsOutput = false } = options;
  const narrow: Omit<NarrowProvider, 'provider' | typeof Symbol.asyncDispose> = {
    refused: 0,
    counted: { input: 0, output: 0 },
    seen: [],
    largest: 0,
  };
  const provider = await startScriptedProvider({
    respond: (request) => {
      const input = countRequest(request);
      const asked =
        input + (cutsOutput ? 16 : Number(request.body.max_tokens ?? request.body.max_completion_tokens ?? 16));
      const refusal = REFUSALS[narrow.refused % REFUSALS.length];
      if (asked > contextTokens && refusal) {
        narrow.refused++;
        return refusal(contextTokens, asked);
      }
      const seen = seenRequest(request.body);
      const said = options.model(seen, narrow.seen.length);
      narrow.seen.push(seen);
      narrow.largest = Math.max(narrow.largest, input);
      const calls = (said.toolCalls ?? []).map((call) => call.name + JSON.stringify(call.arguments)).join(' ');
      const output = countTokens(`${said.reasoning ?? ''} ${said.text ?? ''} ${calls}`);
      narrow.counted.input += input;
      narrow.counted.output += output;
      const counts = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
      return turn({ chunks: 4, ...said, usage: usage ? counts : null });
    },
  });
  return Object.assign(narrow, { provider, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() });
}

/** Words, numbers and punctuation, 1.3 tokens each and more for long words; a character of CJK text is one. */
export function countTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(
    /\p{Script=Han}|[\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}]+|[^\s]/gu,
  ))
    tokens += 1.3 * Math.max(1, piece.length / 8);
  return Math.ceil(tokens);
}

function countRequest({ body }: ProviderRequest): number {
  const tools = body.tools?.length ? countTokens(JSON.stringify(body.tools)) : 0;
  return seenRequest(body).messages.reduce((sum, { content }) => sum + 4 + countTokens(content), tools);
}
