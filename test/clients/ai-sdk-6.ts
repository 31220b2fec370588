import { createOpenAI } from '@ai-sdk/openai3';
import { generateText, stepCountIs, streamText, tool } from 'ai6';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate, withTool } = clientOf({ createOpenAI, generateText, stepCountIs, streamText, tool });
