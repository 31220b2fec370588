import { GatewayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { ResearchModelConfig } from '../../config/schema.ts';
import type { PriorCall, PriorOutput } from '../../protocol/requests/foreign-items.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { type InputItem, type InputMessage, inputItem } from '../../protocol/requests/request-input.ts';
import type { ConversationMessage } from '../../research/run/request.ts';
import { fencePlainly } from '../../research/text/fence.ts';

/** References looked up for one request at most: each may read the log of another run. */
const MAX_REFERENCES = 500;
/** The longest name of a tool that ran elsewhere, in UTF-16 code units. */
const MAX_NAME = 128;

/** What turning input into a conversation needs to know. */
export interface ConversationOptions {
  model: ResearchModelConfig;
  /** `input` or `messages`, for errors. */
  field: string;
  /** Gives the stored item of the caller's own runs, or throws `not_found`. */
  findItem(id: string): Promise<JsonObject>;
}

/**
 * Input items as messages (contract section 3.1): references are looked up, earlier tool calls become context, here
 * or elsewhere; earlier reasoning is dropped.
 * @throws GatewayError `not_found` for an unknown reference, `unsupported_parameter` for an image without vision.
 */
export async function chatMessages(
  items: readonly InputItem[],
  options: ConversationOptions,
): Promise<ConversationMessage[]> {
  const { field } = options;
  if (items.filter((item) => item.type === 'item_reference').length > MAX_REFERENCES) {
    throw new GatewayError('invalid_parameter', `${field}: at most ${MAX_REFERENCES} references can be looked up.`, {
      param: field,
    });
  }
  const outputs = new PriorOutputs(items);
  const messages: ConversationMessage[] = [];
  for (const [index, item] of items.entries()) {
    const found = item.type === 'item_reference' ? await lookUp(item.id, `${field}[${index}].id`, options) : item;
    if (found.type === 'message') {
      if (found.content.length > 0) messages.push(checkedMessage(found, `${field}[${index}]`, options.model));
      for (const call of found.calls ?? []) messages.push(priorCall(call, outputs));
    } else if (found.type === 'tool_call') messages.push(earlierCall(found));
    else if (found.type === 'prior_call') messages.push(priorCall(found, outputs));
    else if (found.type === 'prior_output' && !outputs.isTaken(found)) messages.push(priorOutput(found.output));
  }
  return messages;
}

/** The outputs of a thread by the calls that they belong to; each is told once, with its call. */
class PriorOutputs {
  readonly #byCall = new Map<string, PriorOutput>();
  readonly #called = new Set<string>();

  constructor(items: readonly InputItem[]) {
    for (const item of items) {
      if (item.type === 'prior_output' && item.callId !== undefined) this.#byCall.set(item.callId, item);
      const calls = item.type === 'prior_call' ? [item] : item.type === 'message' ? (item.calls ?? []) : [];
      for (const { callId } of calls) if (callId !== undefined) this.#called.add(callId);
    }
  }

  of({ callId, output }: PriorCall): string | undefined {
    return output ?? (callId === undefined ? undefined : this.#byCall.get(callId)?.output);
  }

  isTaken({ callId }: PriorOutput): boolean {
    return callId !== undefined && this.#called.has(callId);
  }
}

/** A call that ran elsewhere: all of it is data. */
function priorCall(call: PriorCall, outputs: PriorOutputs): ConversationMessage {
  const output = outputs.of(call);
  const name = call.name.replace(/[^\w.-]+/g, ' ').slice(0, MAX_NAME);
  const result = output === undefined ? '' : `\nResult: ${fencePlainly(output)}`;
  return said(`(Earlier tool call) ${name}: ${fencePlainly(call.arguments)}${result}`);
}

function priorOutput(output: string): ConversationMessage {
  return said(`(Earlier tool result) ${fencePlainly(output)}`);
}

function said(text: string): ConversationMessage {
  return { role: 'assistant', content: [{ type: 'text', text }] };
}

/** Items that say nothing to a model, by their places, for `x-ignored-parameters`. */
export function droppedItems(items: readonly { type: string }[], field: string): string[] {
  return items.flatMap(({ type }, index) => (type === 'dropped' ? [`${field}[${index}]`] : []));
}

async function lookUp(id: string, param: string, { findItem }: ConversationOptions): Promise<InputItem> {
  try {
    return parseValue(inputItem, await findItem(id));
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code !== 'not_found') throw thrown;
    throw new GatewayError('not_found', `${param}: there is no item with this id.`, { param, cause: thrown });
  }
}

function checkedMessage(message: InputMessage, path: string, model: ResearchModelConfig): ConversationMessage {
  const image = message.content.findIndex((part) => part.type === 'image');
  if (image !== -1 && !model.vision) {
    const param = `${path}.content[${image}]`;
    throw new GatewayError('unsupported_parameter', `${param}: this model does not read images.`, { param });
  }
  return { role: message.role, content: message.content };
}

/** A tool call of an earlier answer, as something the assistant said; what a tool returned is data, not instruction. */
function earlierCall(call: Extract<InputItem, { type: 'tool_call' }>): ConversationMessage {
  const result = call.result === undefined ? '' : `\nResult: ${fencePlainly(call.result)}`;
  return said(`(Earlier tool call) ${call.name} ${call.arguments ?? '{}'}${result}`);
}
