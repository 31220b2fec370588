import { createOpenAI } from '@ai-sdk/openai';
import { generateText, type ModelMessage, streamText } from 'ai';
import type { AiSdkClient, AiSdkTarget, Answer } from './contract.ts';

function modelOf({ baseURL, apiKey, model, api }: AiSdkTarget) {
  // Without this header it asks for any type, and is sent a stream where it did not ask for one.
  const openai = createOpenAI({ baseURL, apiKey, headers: { Accept: 'application/json' } });
  return api === 'responses' ? openai.responses(model) : openai.chat(model);
}

export const stream: AiSdkClient['stream'] = async (target, questions) => {
  const messages: ModelMessage[] = [];
  const answers: Answer[] = [];
  for (const question of questions) {
    messages.push({ role: 'user', content: question });
    const result = streamText({ model: modelOf(target), messages, maxRetries: 0, onError: () => {} });
    const answer = await readStream(result);
    answers.push(answer);
    if (answer.errors.length === 0) messages.push(...(await result.response).messages);
  }
  return answers;
};

async function readStream(result: Pick<ReturnType<typeof streamText>, 'fullStream'>): Promise<Answer> {
  const answer: Answer = { text: '', sources: [], finish: undefined, tokens: 0, errors: [] };
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') answer.text += part.text;
    if (part.type === 'source' && part.sourceType === 'url') answer.sources.push(part.url);
    if (part.type === 'error') answer.errors.push(part.error instanceof Error ? part.error.message : 'unknown');
    if (part.type === 'finish') {
      answer.finish = part.finishReason;
      answer.tokens = part.totalUsage.totalTokens ?? 0;
    }
  }
  return answer;
}

export const generate: AiSdkClient['generate'] = async (target, question) => {
  const result = await generateText({ model: modelOf(target), prompt: question, maxRetries: 0 });
  return {
    text: result.text,
    sources: result.sources.map((source) => ('url' in source ? source.url : '')),
    finish: result.finishReason,
    tokens: result.totalUsage.totalTokens ?? 0,
    errors: [],
  };
};
