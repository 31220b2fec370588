import { createOpenAI } from '@ai-sdk/openai';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate, object, withTool } = clientOf({
  createOpenAI,
  generateText,
  Output,
  stepCountIs,
  streamText,
  tool,
});
