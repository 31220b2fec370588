import Instructor from '@instructor-ai/instructor';
import OpenAI from 'openai4';
import { z } from 'zod';
import type { InstructorClient } from './contract.ts';

/** Structured answers in the modes that use no function of a client. */
export const extract: InstructorClient['extract'] = async ({ baseURL, apiKey, model }, mode, question) => {
  const client = Instructor({ client: new OpenAI({ baseURL, apiKey, maxRetries: 0 }), mode });
  const answer = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: question }],
    response_model: { schema: z.object({ answer: z.string() }), name: 'Answer' },
    max_retries: 0,
  });
  return answer.answer;
};
