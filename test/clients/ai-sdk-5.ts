import { createOpenAI } from '@ai-sdk/openai2';
import { generateObject, generateText, Output, stepCountIs, streamText, tool } from 'ai5';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate, object, withTool } = clientOf(
  { createOpenAI, generateObject, generateText, Output, stepCountIs, streamText, tool },
  { namesTools: true },
);
