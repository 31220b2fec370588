import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { optional } from './parse.ts';

/**
 * What a thread that began elsewhere may hold (contract section 3.1): calls of tools that ran at a client or at another
 * service, and their outputs. They become context, as text; those that say nothing are dropped.
 */

/** A call of an earlier turn. `output`: what came of it, where the item says so itself. */
export interface PriorCall {
  type: 'prior_call';
  callId?: string;
  name: string;
  arguments: string;
  output?: string;
}

/** What came of a call that stands elsewhere in the thread. */
export interface PriorOutput {
  type: 'prior_output';
  callId?: string;
  output: string;
}

/** An item that says nothing to a model. */
export interface DroppedItem {
  type: 'dropped';
}

const NOTHING: DroppedItem = { type: 'dropped' };
const id = optional(z.string());
/** Text, parts of text, or whatever else a tool gave. */
const output = z.unknown().optional().transform(textOf);

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  const parts = Array.isArray(value) ? value.map((part) => (isObject(part) ? part.text : undefined)) : [];
  return parts.length > 0 && parts.every((text) => typeof text === 'string') ? parts.join('\n') : JSON.stringify(value);
}

function call(name: string, args: unknown, more: { callId?: string | undefined; output?: string } = {}): PriorCall {
  const { callId, output: result } = more;
  return {
    type: 'prior_call',
    name,
    arguments: textOf(args),
    ...(callId === undefined ? {} : { callId }),
    ...(result === undefined || result === '' ? {} : { output: result }),
  };
}

function priorOutput(callId: string | undefined, text: string): PriorOutput | DroppedItem {
  if (text === '') return NOTHING;
  return { type: 'prior_output', output: text, ...(callId === undefined ? {} : { callId }) };
}

const functionCall = z
  .object({ call_id: id, name: z.string(), arguments: output })
  .transform((item): PriorCall => call(item.name, item.arguments, { callId: item.call_id }));

const functionCallOutput = z
  .object({ call_id: id, output })
  .transform((item): PriorOutput | DroppedItem => priorOutput(item.call_id, item.output));

const webSearchCall = z
  .object({ action: z.unknown().optional() })
  .transform(({ action }): PriorCall | DroppedItem => (isObject(action) ? call('web_search', action) : NOTHING));

const fileSearchCall = z
  .object({ queries: z.unknown().optional(), results: output })
  .transform(({ queries, results }): PriorCall | DroppedItem => {
    const asked = Array.isArray(queries) && queries.length > 0;
    return asked || results !== '' ? call('file_search', { queries }, { output: results }) : NOTHING;
  });

const codeInterpreterCall = z
  .object({ code: optional(z.string()), outputs: z.unknown().optional() })
  .transform(({ code, outputs }): PriorCall | DroppedItem => {
    if (code === undefined || code === '') return NOTHING;
    const logs = (Array.isArray(outputs) ? outputs : [])
      .map((part) => (isObject(part) && typeof part.logs === 'string' ? part.logs : ''))
      .filter((text) => text !== '');
    return call('code_interpreter', code, { output: logs.join('\n') });
  });

const mcpCall = z
  .object({ server_label: id, name: z.string(), arguments: output, output, error: output })
  .transform((item): PriorCall => {
    const name = item.server_label === undefined ? item.name : `${item.server_label}.${item.name}`;
    return call(name, item.arguments, { output: item.output || item.error });
  });

/** Lists of tools say nothing about the thread, and pictures are no text. */
const silent = z.looseObject({}).transform(() => NOTHING);

/** By the type of the item. */
export const foreignItems = {
  function_call: functionCall,
  function_call_output: functionCallOutput,
  web_search_call: webSearchCall,
  file_search_call: fileSearchCall,
  code_interpreter_call: codeInterpreterCall,
  mcp_call: mcpCall,
  mcp_list_tools: silent,
  image_generation_call: silent,
} as const;

export type ForeignType = keyof typeof foreignItems;

export function isForeign(type: unknown): type is ForeignType {
  return typeof type === 'string' && Object.hasOwn(foreignItems, type);
}

/** `tool_calls` of an assistant message in a chat history. */
export const toolCalls = z
  .array(z.object({ id, function: z.object({ name: z.string(), arguments: output }) }))
  .max(1000)
  .transform((calls) => calls.map(({ id: callId, function: made }) => call(made.name, made.arguments, { callId })));

/** A `tool` message of a chat history, or a `function` message of an older one. */
export const toolMessage = z
  .object({ tool_call_id: id, name: id, content: output })
  .transform((message): PriorOutput | DroppedItem =>
    priorOutput(message.tool_call_id ?? message.name, message.content),
  );
