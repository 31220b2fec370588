import { GatewayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { ResearchModelConfig } from '../../config/schema.ts';
import { parseValue } from '../../protocol/parse.ts';
import { type InputItem, type InputMessage, inputItem } from '../../protocol/request-input.ts';
import type { ConversationMessage } from '../../research/run/request.ts';
import { fencePlainly } from '../../research/text/fence.ts';

/** References looked up for one request at most: each may read the log of another run. */
const MAX_REFERENCES = 500;

/** What turning input into a conversation needs to know. */
export interface ConversationOptions {
  model: ResearchModelConfig;
  /** `input` or `messages`, for errors. */
  field: string;
  /** Gives the stored item of the caller's own runs, or throws `not_found`. */
  findItem(id: string): Promise<JsonObject>;
}

/**
 * Input items as messages (contract section 3.1): references are looked up, earlier tool calls become context,
 * earlier reasoning is dropped.
 * @throws GatewayError `not_found` for an unknown reference, `unsupported_parameter` for an image without vision.
 */
export async function conversationOf(
  items: readonly InputItem[],
  options: ConversationOptions,
): Promise<ConversationMessage[]> {
  const { field } = options;
  if (items.filter((item) => item.type === 'item_reference').length > MAX_REFERENCES) {
    throw new GatewayError('invalid_parameter', `${field}: at most ${MAX_REFERENCES} references can be looked up.`, {
      param: field,
    });
  }
  const messages: ConversationMessage[] = [];
  for (const [index, item] of items.entries()) {
    const found = item.type === 'item_reference' ? await lookUp(item.id, `${field}[${index}].id`, options) : item;
    if (found.type === 'message') messages.push(checkedMessage(found, `${field}[${index}]`, options.model));
    else if (found.type === 'tool_call') messages.push(earlierCall(found));
  }
  return messages;
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
  const text = `(Earlier tool call) ${call.name} ${call.arguments ?? '{}'}${result}`;
  return { role: 'assistant', content: [{ type: 'text', text }] };
}
