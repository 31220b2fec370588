import type { createOpenAI } from '@ai-sdk/openai';
import type { generateText, LanguageModel, ModelMessage, Output, stepCountIs, streamText, tool } from 'ai';
import type { generateObject } from 'ai6';
import { z } from 'zod';
import type { AiSdkClient, AiSdkTarget, Answer } from './contract.ts';

/** A version of the AI SDK. */
export interface AiSdk {
  createOpenAI: typeof createOpenAI;
  generateText: typeof generateText;
  streamText: typeof streamText;
  stepCountIs: typeof stepCountIs;
  tool: typeof tool;
  Output: typeof Output;
  /** Version 7 has none: there `output` of `generateText` is the way. */
  generateObject?: typeof generateObject;
}

export interface ClientOptions {
  /** It only knows calls of hosted tools that the request names, as version 5 does. */
  namesTools?: boolean;
  /** The model of a target; that of `@ai-sdk/openai` where absent. */
  modelOf?(target: AiSdkTarget): LanguageModel;
}

/** The client that tests use, over a version of the SDK. */
export function clientOf(sdk: AiSdk, { namesTools = false, ...own }: ClientOptions = {}): AiSdkClient {
  const toolsOf = ({ api }: AiSdkTarget) =>
    namesTools && api === 'responses' ? { tools: { web_search: sdk.createOpenAI().tools.webSearch({}) } } : {};

  function modelOf(target: AiSdkTarget): LanguageModel {
    if (own.modelOf) return own.modelOf(target);
    const { baseURL, apiKey, model, api, accept } = target;
    // Without this header it asks for any type, and is sent a stream where it did not ask for one.
    const headers = accept === undefined ? {} : { Accept: accept };
    const openai = sdk.createOpenAI({ baseURL, apiKey, headers });
    return api === 'responses' ? openai.responses(model) : openai.chat(model);
  }

  async function readStream(result: Pick<ReturnType<typeof streamText>, 'fullStream'>): Promise<Answer> {
    const answer: Answer = { text: '', reasoning: '', sources: [], finish: undefined, tokens: 0, errors: [] };
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') answer.text += part.text;
      if (part.type === 'reasoning-delta') answer.reasoning += part.text;
      if (part.type === 'source' && part.sourceType === 'url') answer.sources.push(part.url);
      if (part.type === 'error') answer.errors.push(part.error instanceof Error ? part.error.message : 'unknown');
      if (part.type === 'finish') {
        answer.finish = part.finishReason;
        answer.tokens = part.totalUsage.totalTokens ?? 0;
      }
    }
    return answer;
  }

  const weather = () =>
    sdk.tool({
      description: 'Tells the weather.',
      inputSchema: z.object({ city: z.string() }),
      execute: async () => 'sunny',
    });

  return {
    async object(target, question, { readsTool = true } = {}) {
      const schema = z.object({ weather: z.string() });
      const asked = { model: modelOf(target), prompt: question, maxRetries: 0 };
      const output = sdk.Output.object({ schema });
      // Version 5 calls it experimental.
      const tooled = {
        ...{ ...asked, tools: { weather: weather() }, stopWhen: sdk.stepCountIs(4) },
        ...{ output, experimental_output: output },
      };
      const result: { output?: unknown; experimental_output?: unknown } = await sdk.generateText(tooled);
      return {
        withTool: readsTool && (result.output ?? result.experimental_output),
        alone: await sdk.generateObject?.({ ...asked, schema }).then(({ object }) => object),
      };
    },
    async stream(target, questions) {
      const messages: ModelMessage[] = [];
      const answers: Answer[] = [];
      for (const question of questions) {
        messages.push({ role: 'user', content: question });
        const model = modelOf(target);
        const result = sdk.streamText({ model, messages, maxRetries: 0, onError: () => {}, ...toolsOf(target) });
        const answer = await readStream(result);
        answers.push(answer);
        if (answer.errors.length === 0) messages.push(...(await result.response).messages);
      }
      return answers;
    },
    async withTool(target, question) {
      const asked = {
        model: modelOf(target),
        prompt: question,
        maxRetries: 0,
        tools: { weather: weather() },
        stopWhen: sdk.stepCountIs(4),
      };
      const { text } = await sdk.generateText(asked);
      const answer = await readStream(sdk.streamText({ ...asked, onError: () => {} }));
      return { text, streamed: answer.text };
    },
    async generate(target, question) {
      const model = modelOf(target);
      const result = await sdk.generateText({ model, prompt: question, maxRetries: 0, ...toolsOf(target) });
      return {
        text: result.text,
        reasoning: result.reasoningText ?? '',
        sources: result.sources.map((source) => ('url' in source ? source.url : '')),
        finish: result.finishReason,
        tokens: result.totalUsage.totalTokens ?? 0,
        errors: [],
      };
    },
  };
}
