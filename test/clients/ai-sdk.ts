import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate, withTool } = clientOf({ createOpenAI, generateText, stepCountIs, streamText, tool });
