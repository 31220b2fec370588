import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type ResearcherTurn, type SentMessage, takeTurn } from './researcher.ts';

/** A scripted model: what it says next, from what it was sent. */
export type TakeTurn = typeof takeTurn;

/** The scripted researcher, or another scripted model, behind an OpenAI-compatible server on a free loopback port. */
export async function startResearcher(model: TakeTurn = takeTurn): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    answer(model, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(model: TakeTurn, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body: { model: string; messages: SentMessage[]; tools?: unknown[]; tool_choice?: unknown } = JSON.parse(
    Buffer.concat(await Array.fromAsync(request)).toString(),
  );
  const turn = model(body.messages, { tools: (body.tools?.length ?? 0) > 0 && body.tool_choice !== 'none' });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunksOf(turn, body)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end('data: [DONE]\n\n');
}

function* chunksOf(turn: ResearcherTurn, body: { model: string; messages: SentMessage[] }): Generator<object> {
  const round = body.messages.filter((message) => message.role === 'assistant').length;
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'chatcmpl-researcher',
    object: 'chat.completion.chunk',
    created: 0,
    model: body.model,
    choices: [{ index: 0, delta, finish_reason }],
  });
  yield chunk({ role: 'assistant', content: turn.text });
  if (turn.calls.length > 0) {
    const tool_calls = turn.calls.map((call, index) => ({
      index,
      id: `call_${round}_${index}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    }));
    yield chunk({ tool_calls });
  }
  yield chunk({}, turn.calls.length > 0 ? 'tool_calls' : 'stop');
  // Four characters a token: near enough to compare one version with another.
  const prompt_tokens = Math.ceil(JSON.stringify(body.messages).length / 4);
  const completion_tokens = Math.ceil(JSON.stringify(turn).length / 4);
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  yield { ...chunk({}), choices: [], usage };
}
