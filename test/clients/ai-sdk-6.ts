import { createOpenAI } from '@ai-sdk/openai3';
import { generateObject, generateText, Output, stepCountIs, streamText, tool } from 'ai6';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate, object, withTool } = clientOf({
  createOpenAI,
  generateObject,
  generateText,
  Output,
  stepCountIs,
  streamText,
  tool,
});
