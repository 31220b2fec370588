import { createOpenAI } from '@ai-sdk/openai2';
import { generateText, streamText } from 'ai5';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate } = clientOf({ createOpenAI, generateText, streamText }, { namesTools: true });
