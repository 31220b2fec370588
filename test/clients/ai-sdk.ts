import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate } = clientOf({ createOpenAI, generateText, streamText });
