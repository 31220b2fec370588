import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { clientOf } from './ai-sdk-of.ts';

/** The AI SDK's provider for servers of OpenAI's kind, through which Cherry Studio speaks to them. */
export const { stream, generate } = clientOf(
  { createOpenAI, generateText, stepCountIs, streamText, tool },
  {
    modelOf: ({ baseURL, apiKey, model }) =>
      createOpenAICompatible({ name: 'gateway', baseURL, apiKey, includeUsage: true })(model),
  },
);
