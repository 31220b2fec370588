import type { AssistantMessage, TurnMessage, TurnTool } from '../../turn.ts';
import { withInstruction } from './instructions.ts';
import { objectArguments } from './tool-arguments.ts';
import type { Trait } from './trait.ts';

interface ToolProtocol {
  toolProtocol: 'native' | 'text';
}

const REFUSED = [
  // Ollama, OpenRouter, Groq, Perplexity and others.
  /(?:does not|doesn't|not|no).{0,30}\bsupport.{0,30}\b(?:tools?|function)\b/i,
  /\b(?:tools?|tool[_ ]choice|tool[_ ]use|tool[_ ]calling|function[_ ]calling|functions?)\b.{0,60}\b(?:not supported|unsupported|not enabled|not available|not allowed|not permitted)/i,
  // Chat templates without a role for results.
  /only (?:user, system|system, user),? and assistant roles/i,
  // vLLM without a tool parser; llama.cpp without --jinja.
  /enable-auto-tool-choice|tools? param requires --jinja/i,
];

/** For models or servers without `tools`: the instructions describe the tools, and calls are read from the text. */
export const toolProtocol: Trait<ToolProtocol> = {
  start: () => ({ toolProtocol: 'native' }),
  learn({ text, body }, traits) {
    if (traits.toolProtocol === 'text' || !('tools' in body) || !REFUSED.some((refusal) => refusal.test(text)))
      return false;
    traits.toolProtocol = 'text';
    return true;
  },
  /** Only for chat completions: whoever offers another API knows tools. */
  shape(request, traits, api) {
    if (traits.toolProtocol === 'native' || api !== 'chat_completions') return request;
    const { tools = [], toolChoice } = request;
    const isOffered = tools.length > 0 && toolChoice !== 'none';
    const messages = toTextMessages(request.messages);
    const described = isOffered ? withInstruction(messages, toolDescription(tools)) : messages;
    return { ...request, tools: [], messages: described };
  },
};

/** The messages with calls and results written as text. */
function toTextMessages(messages: readonly TurnMessage[]): TurnMessage[] {
  const result: TurnMessage[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') result.push({ role: 'assistant', content: withCalls(message) });
    else if (message.role === 'tool') addResult(result, `<tool_response>\n${message.content}\n</tool_response>`);
    else result.push(message);
  }
  return result;
}

function withCalls(message: AssistantMessage): string {
  const calls = (message.tool_calls ?? []).map(
    (call) =>
      `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${objectArguments(call.arguments)}}\n</tool_call>`,
  );
  return [message.content, ...calls].filter((text) => text !== '').join('\n');
}

/** Results of one turn go into one user message, as chat templates expect. */
function addResult(messages: TurnMessage[], text: string): void {
  const last = messages.at(-1);
  if (last?.role === 'user' && typeof last.content === 'string' && last.content.endsWith('</tool_response>')) {
    messages.splice(-1, 1, { role: 'user', content: `${last.content}\n${text}` });
  } else messages.push({ role: 'user', content: text });
}

function toolDescription(tools: readonly TurnTool[]): string {
  const lines = tools.map(({ name, description, parameters }) => JSON.stringify({ name, description, parameters }));
  return [
    '# Tools',
    'You may call one or more tools. They are described here, one JSON object a line:',
    `<tools>\n${lines.join('\n')}\n</tools>`,
    'To call a tool, write a JSON object with its name and arguments between tags, one pair of tags for each call:',
    '<tool_call>\n{"name": "<tool name>", "arguments": {"<parameter>": "<value>"}}\n</tool_call>',
    'Then stop: the results come in the next message between <tool_response> tags. Never write results yourself.',
  ].join('\n');
}
