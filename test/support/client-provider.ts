import { isObject } from '../../src/base/json.ts';
import { frames, hang, json, type Script, status, type TurnScript, turn, turnPayloads } from './provider-scripts.ts';
import { mayCallTools, type ProviderRequest } from './scripted-provider.ts';

/** The scripted provider's answers for each of its models, which research models and proxy models share. */
export function answerOf(request: ProviderRequest): Script {
  const { model } = request.body;
  switch (model) {
    case 'slow':
      return hang();
    case 'broken':
      return status(400, { message: 'This model is out of order.' });
    case 'down':
      return status(503, { message: 'Down for the day.', headers: { 'x-should-retry': 'false' } });
    case 'desk':
      return asksForWeather(request);
    case 'coder':
      return codes(request);
    case 'cut':
      return mayCallTools(request) ? turn({ reasoning: 'I know enough.', text: 'Ready.' }) : cutAnswer();
    default:
      return plain(request);
  }
}

/** Calls the weather function, then answers with its result, streamed or whole. */
function asksForWeather(request: ProviderRequest): Script {
  const told = request.body.messages?.findLast(({ role }) => role === 'tool');
  const text = `The weather: ${told?.content}`;
  const asked = isObject(request.body.response_format) && request.body.response_format.type === 'json_schema';
  const answer = () => turn({ text: asked ? JSON.stringify({ weather: text }) : text });
  const offered = request.body.tools?.map(({ function: { name } }) => String(name)) ?? [];
  if (!mayCallTools(request) || !offered.some((name) => /^(?:weather$|transfer_to_)/.test(name))) return answer();
  const handoff = request.body.tools?.find(({ function: { name } }) => /^transfer_to_/.test(name));
  if (handoff) return turn({ toolCalls: [{ id: 'call_0', name: handoff.function.name, arguments: {} }] });
  if (told && !/"assistant"\s*:\s*"Forecaster"/.test(told.content)) return answer();
  return turn({ toolCalls: [{ id: 'call_1', name: 'weather', arguments: { city: 'Elmsworth' } }] });
}

/** Runs one command after the other, and answers with the output of the last. */
function codes({ body: { messages = [] } }: ProviderRequest): Script {
  const done = messages.filter(({ role }) => role === 'tool');
  const cmd = ['echo a tidal turbine > power.txt', 'cat power.txt'][done.length];
  if (cmd === undefined) return turn({ text: `The file says: ${done.at(-1)?.content}` });
  const call = { id: `call_${done.length}`, name: 'exec_command', arguments: { cmd } };
  return turn({ reasoning: 'I run a command.', toolCalls: [call] });
}

/** An answer that breaks off and cannot be continued: the call that should continue it fails too. */
function cutAnswer(): Script {
  const script = frames(turnPayloads({ text: 'The first half of the answer', finish: null, usage: null }), {
    done: false,
  });
  return { ...script, steps: [...script.steps.slice(0, -1), { do: 'cut' }] };
}

export const PROXY_TEXT = 'The provider says 12345678901234567890 and 東京 🗼.';

function plain(request: ProviderRequest): Script {
  const path = request.path.replace(/^\/v1\//, '');
  if (path === 'embeddings') return embeddings(request);
  if (path === 'audio/transcriptions') return json({ text: `heard ${request.bytes.includes('not really a sound')}` });
  if (path === 'responses') return json({ ...PROXY_RESPONSE, metadata: { model: String(request.body.model) } });
  const said: TurnScript = request.body.tools
    ? { toolCalls: [{ id: 'call_1', name: 'weather', arguments: { city: 'Elmsworth' } }] }
    : { text: PROXY_TEXT };
  return request.body.stream === true ? turn(said) : json(completion(said));
}

const PROXY_RESPONSE = {
  id: 'resp_of_the_provider',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'plain',
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: PROXY_TEXT, annotations: [], logprobs: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
};

function completion(said: TurnScript): object {
  const message = { role: 'assistant', content: said.text ?? null, refusal: null };
  const choice = { index: 0, message, finish_reason: 'stop', logprobs: null };
  return {
    id: 'chatcmpl-plain',
    object: 'chat.completion',
    created: 1,
    model: 'plain',
    choices: [choice],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  };
}

/** One vector for each input, as floats or as base64 of little-endian floats, which the SDKs ask for. */
function embeddings({ body }: ProviderRequest): Script {
  const inputs = [body.input].flat();
  const vector = (index: number) => [index + 0.5, -1];
  const encode = (floats: number[]) => Buffer.from(new Float32Array(floats).buffer).toString('base64');
  const data = inputs.map((_, index) => {
    const floats = vector(index);
    return { object: 'embedding', index, embedding: body.encoding_format === 'base64' ? encode(floats) : floats };
  });
  return json({ object: 'list', model: 'plain', data, usage: { prompt_tokens: 2, total_tokens: 2 } });
}
