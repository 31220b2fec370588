import { AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import type { Answer, LangChainClient, LangChainTarget } from './contract.ts';

function chat({ baseURL, apiKey, model, useResponsesApi }: LangChainTarget): ChatOpenAI {
  return new ChatOpenAI({ model, apiKey, useResponsesApi, configuration: { baseURL }, maxRetries: 0 });
}

function answerOf(message: AIMessage | AIMessageChunk): Answer {
  const blocks = Array.isArray(message.content) ? message.content : [];
  const annotations = blocks.flatMap((block) => ('annotations' in block ? (block.annotations as object[]) : []));
  const finish = message.response_metadata.status ?? message.response_metadata.finish_reason;
  return {
    text: message.text,
    sources: annotations.flatMap((annotation) => ('url' in annotation ? [String(annotation.url)] : [])),
    finish: typeof finish === 'string' ? finish : undefined,
    tokens: message.usage_metadata?.total_tokens ?? 0,
    errors: [],
  };
}

export const invoke: LangChainClient['invoke'] = async (target, questions) => {
  const messages: BaseMessage[] = [];
  const answers: Answer[] = [];
  for (const question of questions) {
    messages.push(new HumanMessage(question));
    const message = await chat(target).invoke(messages);
    messages.push(message);
    answers.push(answerOf(message));
  }
  return answers;
};

export const withTool: LangChainClient['withTool'] = async (target, question) => {
  const weather = tool(async () => 'sunny', {
    name: 'weather',
    description: 'Tells the weather.',
    schema: z.object({ city: z.string() }),
  });
  const bound = chat(target).bindTools([weather]);
  const messages: BaseMessage[] = [new HumanMessage(question)];
  for (;;) {
    const message = await bound.invoke(messages);
    messages.push(message);
    if (!message.tool_calls?.length) return answerOf(message);
    for (const call of message.tool_calls) messages.push(await weather.invoke({ ...call, type: 'tool_call' }));
  }
};

export const stream: LangChainClient['stream'] = async (target, question) => {
  let text = '';
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await chat(target).stream(question)) {
    text += chunk.text;
    whole = whole?.concat(chunk) ?? chunk;
  }
  return { text, joined: answerOf(whole ?? new AIMessage('')) };
};
