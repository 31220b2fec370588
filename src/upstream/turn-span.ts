import { isObject, parseJson } from '../base/json.ts';
import { Operation } from '../base/telemetry/operation.ts';
import { errorType, LONGEST_TEXT } from '../base/telemetry/spans.ts';
import {
  type AssistantMessage,
  TurnError,
  type TurnMessage,
  type TurnPart,
  type TurnRequest,
  type TurnUsage,
} from './turn.ts';

type Finish = Extract<TurnPart, { type: 'finish' }>;

/** The longest part of a message that is shown, in UTF-16 code units. */
const LONGEST_PART = 2000;

/** The span of one turn, `chat {model}`, with its metrics (docs/telemetry.md). */
export class TurnSpan {
  readonly #operation: Operation;
  #finish: Finish | undefined;
  #error: string | undefined;

  /** `model`: its name in the configuration. */
  constructor(model: string, request: TurnRequest) {
    const { maxOutputTokens, temperature, topP } = request;
    this.#operation = new Operation({
      name: 'chat',
      model,
      attributes: {
        'gen_ai.request.stream': true,
        ...(maxOutputTokens !== undefined && { 'gen_ai.request.max_tokens': maxOutputTokens }),
        ...(temperature !== undefined && { 'gen_ai.request.temperature': temperature }),
        ...(topP !== undefined && { 'gen_ai.request.top_p': topP }),
      },
    });
    const { span } = this.#operation;
    if (span.showsContents) span.set({ 'gen_ai.input.messages': lastMessages(request.messages) });
  }

  in<T>(work: () => T): T {
    return this.#operation.span.in(work);
  }

  finished(finish: Finish): void {
    this.#finish = finish;
  }

  /** The turn cannot go on. */
  failed(thrown: unknown): void {
    this.#error = thrown instanceof TurnError ? thrown.kind : errorType(thrown);
  }

  /** `last`: the provider that failed last. A turn that is neither whole nor failed was stopped by its reader. */
  end({ usage, last }: { usage: TurnUsage; last: string | undefined }): void {
    const finish = this.#finish;
    const { span } = this.#operation;
    if (finish) span.set({ 'gen_ai.response.finish_reasons': [finish.reason] });
    if (finish && span.showsContents) span.set({ 'gen_ai.output.messages': lastMessages([finish.message]) });
    const error = finish ? undefined : (this.#error ?? 'stopped');
    const { provider, model } = finish?.route ?? {};
    this.#operation.end({ provider: provider ?? last, responseModel: model, usage: () => usage, error });
  }
}

/** As many of the last messages as a span holds, in the form of OpenTelemetry's conventions, as JSON. */
function lastMessages(messages: readonly TurnMessage[]): string {
  const shown: string[] = [];
  let length = 2;
  for (const message of messages.toReversed()) {
    const text = JSON.stringify({ role: message.role, parts: partsOf(message) });
    length += text.length + 1;
    if (length > LONGEST_TEXT) break;
    shown.unshift(text);
  }
  return `[${shown.join(',')}]`;
}

function partsOf(message: TurnMessage): object[] {
  if (message.role === 'tool') {
    return [{ type: 'tool_call_response', id: message.tool_call_id, response: cut(message.content) }];
  }
  const text = textOf(message.content);
  const said = text === '' ? [] : [{ type: 'text', content: cut(text) }];
  return message.role === 'assistant' ? [...said, ...callsOf(message)] : said;
}

function textOf(content: Exclude<TurnMessage, { role: 'tool' }>['content']): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '(image)')).join('\n');
}

function callsOf({ tool_calls = [] }: AssistantMessage): object[] {
  return tool_calls.map(({ id, name, arguments: text }) => {
    const given = text.length > LONGEST_PART ? undefined : parseJson(text);
    return { type: 'tool_call', id, name, arguments: isObject(given) ? given : cut(text) };
  });
}

function cut(text: string): string {
  return text.length > LONGEST_PART ? `${text.slice(0, LONGEST_PART)}…` : text;
}
