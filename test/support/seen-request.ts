/** The parts of a request that a provider's model sees. */
export interface SeenRequest {
  /** Everything that stands in the messages, joined. */
  text: string;
  /** Messages with their text; tool calls stand behind it as JSON. */
  messages: { role: string; content: string }[];
  /** Whether tools may be called: a research turn. */
  research: boolean;
  /** The names of the tools on offer. */
  tools: string[];
  /** A piece of a page that is to be read. */
  reading: boolean;
}

/** Extracts them from the body of a chat completion. */
export function seenRequest(body: {
  messages?: Record<string, unknown>[];
  tools?: { function?: { name?: string } }[];
  tool_choice?: unknown;
}): SeenRequest {
  const messages = (body.messages ?? []).map(({ role, content, tool_calls }) => {
    const calls = tool_calls === undefined ? [] : [JSON.stringify(tool_calls)];
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '');
    return { role: String(role), content: [text, ...calls].join('\n') };
  });
  const text = messages.map(({ content }) => content).join('\n');
  return {
    messages,
    text,
    tools: (body.tools ?? []).map((tool) => tool.function?.name ?? ''),
    research: Boolean(body.tools?.length) && body.tool_choice !== 'none',
    reading: text.startsWith('You read one piece'),
  };
}
