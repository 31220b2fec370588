import { openai } from '@llamaindex/openai';
import type { LlamaIndexClient } from './contract.ts';

export const chat: LlamaIndexClient['chat'] = async ({ baseURL, apiKey, model }, question) => {
  const llm = openai({ baseURL, apiKey, model, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: question }];
  const { message } = await llm.chat({ messages });
  let streamed = '';
  for await (const part of await llm.chat({ messages, stream: true })) streamed += part.delta;
  return { text: String(message.content), streamed };
};
