import { createOpenAI } from '@ai-sdk/openai3';
import { generateText, streamText } from 'ai6';
import { clientOf } from './ai-sdk-of.ts';

export const { stream, generate } = clientOf({ createOpenAI, generateText, streamText });
