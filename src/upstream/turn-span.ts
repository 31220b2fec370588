import { isObject, parseJson } from '../base/json.ts';
import { ModelOperation } from '../base/telemetry/model-operation.ts';
import { errorType, MAX_ATTRIBUTE_LENGTH } from '../base/telemetry/spans.ts';
import {
  type AssistantMessage,
  TurnError,
  type TurnMessage,
  type TurnPart,
  type TurnRequest,
  type TurnUsage,
} from './turn.ts';

type Finish = Extract<TurnPart, { type: 'finish' }>;

/** How much of one part of a message a span holds, in UTF-16 code units. */
const MAX_PART = 2000;

/** The span of one turn, `chat {model}`, with its metrics (docs/telemetry.md). */
export class TurnSpan {
  readonly #operation: ModelOperation;
  #finish: Finish | undefined;
  #error: string | undefined;

  /** `model`: its name in the configuration. */
  constructor(model: string, request: TurnRequest) {
    const { maxOutputTokens, temperature, topP } = request;
    this.#operation = new ModelOperation({
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

  /** `lastFailed`: the provider that failed last. A turn that neither finished nor failed was stopped by its reader. */
  end({ usage, lastFailed }: { usage: TurnUsage; lastFailed: string | undefined }): void {
    const finish = this.#finish;
    const { span } = this.#operation;
    if (finish) span.set({ 'gen_ai.response.finish_reasons': [finish.reason] });
    if (finish && span.showsContents) span.set({ 'gen_ai.output.messages': lastMessages([finish.message]) });
    const error = finish ? undefined : (this.#error ?? 'stopped');
    const { provider, model } = finish?.route ?? {};
    this.#operation.end({ provider: provider ?? lastFailed, responseModel: model, usage: () => usage, error });
  }
}

/** As many of the last messages as a span can hold, as JSON in the form of OpenTelemetry's conventions. */
function lastMessages(messages: readonly TurnMessage[]): string {
  const included: string[] = [];
  let length = 2;
  for (const message of messages.toReversed()) {
    const text = JSON.stringify({ role: message.role, parts: partsOf(message) });
    length += text.length + 1;
    if (length > MAX_ATTRIBUTE_LENGTH) break;
    included.unshift(text);
  }
  return `[${included.join(',')}]`;
}

function partsOf(message: TurnMessage): object[] {
  if (message.role === 'tool') {
    return [{ type: 'tool_call_response', id: message.tool_call_id, response: truncate(message.content) }];
  }
  const text = textOf(message.content);
  const textParts = text === '' ? [] : [{ type: 'text', content: truncate(text) }];
  return message.role === 'assistant' ? [...textParts, ...callsOf(message)] : textParts;
}

function textOf(content: Exclude<TurnMessage, { role: 'tool' }>['content']): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '(image)')).join('\n');
}

function callsOf({ tool_calls = [] }: AssistantMessage): object[] {
  return tool_calls.map(({ id, name, arguments: text }) => {
    const args = text.length > MAX_PART ? undefined : parseJson(text);
    return { type: 'tool_call', id, name, arguments: isObject(args) ? args : truncate(text) };
  });
}

function truncate(text: string): string {
  return text.length > MAX_PART ? `${text.slice(0, MAX_PART).toWellFormed()}…` : text;
}
