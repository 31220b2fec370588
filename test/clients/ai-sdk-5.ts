import { createOpenAI } from '@ai-sdk/openai2';
import { generateText, stepCountIs, streamText, tool } from 'ai5';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate, withTool } = clientOf(
  { createOpenAI, generateText, stepCountIs, streamText, tool },
  { namesTools: true },
);
