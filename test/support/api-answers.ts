import { chunk, frames, json, type Script } from './scripted-provider.ts';

/** An API of proxy models, with samples of its answers. */
export interface ApiUnderTest {
  path: string;
  request: object;
  /** An answer that ends in order and says `text`, streamed or whole. */
  answer(text: string, stream: boolean): Script;
  /** The events before the first text. */
  opening: object[];
  /** An event with this text. */
  says(text: string): object;
}

const messages = [{ role: 'user', content: 'hello' }];
const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };

function chatAnswer(text: string, stream: boolean): Script {
  if (!stream) {
    const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
    return json({ id: 'c', object: 'chat.completion', choices: [choice], usage });
  }
  return frames([chunk({ role: 'assistant', content: '' }), chunk({ content: text }), chunk({}, 'stop')]);
}

function completionAnswer(text: string, stream: boolean): Script {
  const choices = (said: string, end: string | null) => [{ index: 0, text: said, finish_reason: end }];
  if (!stream) return json({ id: 'c', object: 'text_completion', choices: choices(text, 'stop'), usage });
  return frames([
    { object: 'text_completion', choices: choices(text, null) },
    { object: 'text_completion', choices: choices('', 'stop') },
  ]);
}

const item = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
const response = (status: string, output: object[] = []) => ({ id: 'resp_1', object: 'response', status, output });
const responseOpening = [
  { type: 'response.created', response: response('in_progress') },
  { type: 'response.in_progress', response: response('in_progress') },
  { type: 'response.output_item.added', output_index: 0, item: { ...item(''), content: [] } },
  { type: 'response.content_part.added', output_index: 0, part: { type: 'output_text', text: '', annotations: [] } },
];

function responseAnswer(text: string, stream: boolean): Script {
  const whole = response('completed', [item(text)]);
  if (!stream) return json(whole);
  const delta = { type: 'response.output_text.delta', output_index: 0, delta: text };
  return frames([...responseOpening, delta, { type: 'response.completed', response: whole }], { done: false });
}

const messageOpening = [
  { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 3 } } },
  { type: 'ping' },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
];

function messageAnswer(text: string, stream: boolean): Script {
  const fields = { type: 'message', role: 'assistant', content: [{ type: 'text', text }] };
  if (!stream) return json({ ...fields, stop_reason: 'end_turn', usage: { input_tokens: 3, output_tokens: 5 } });
  return frames(
    [
      ...messageOpening,
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ],
    { done: false },
  );
}

/** The APIs under test, by their names in a configuration. */
export const APIS: Readonly<Record<string, ApiUnderTest>> = {
  chat_completions: {
    path: '/chat/completions',
    request: { messages },
    answer: chatAnswer,
    opening: [chunk({ role: 'assistant', content: '' }), chunk({})],
    says: (content) => chunk({ content }),
  },
  completions: {
    path: '/completions',
    request: { prompt: 'hello' },
    answer: completionAnswer,
    opening: [{ object: 'text_completion', choices: [{ index: 0, text: '', finish_reason: null }] }],
    says: (text) => ({ object: 'text_completion', choices: [{ index: 0, text, finish_reason: null }] }),
  },
  responses: {
    path: '/responses',
    request: { input: 'hello' },
    answer: responseAnswer,
    opening: responseOpening,
    says: (delta) => ({ type: 'response.output_text.delta', output_index: 0, delta }),
  },
  messages: {
    path: '/messages',
    request: { messages, max_tokens: 9 },
    answer: messageAnswer,
    opening: messageOpening,
    says: (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  },
};

/** Events without content, which a provider may repeat for ever. */
export function endlessOf({ opening, says }: ApiUnderTest): Record<string, string> {
  const framed = (payload: object | undefined) => `data: ${JSON.stringify(payload)}\n\n`;
  return {
    'opening events': framed(opening.at(-1)),
    'empty deltas': framed(says('')),
    'white-space deltas': framed(says(' \n')),
    comments: ': still there\n\n',
    'white space': '\n',
  };
}
