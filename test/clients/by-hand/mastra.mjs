import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';

/** Run by `npm run clients -- mastra` in a folder that has these packages. */
const { baseURL, apiKey, openaiKey, model, question } = JSON.parse(process.argv[2] ?? '{}');
const agentOf = (chosen) => new Agent({ id: 'reader', name: 'reader', instructions: 'Be brief.', model: chosen });
const apis = {
  chat: agentOf(createOpenAI({ baseURL, apiKey }).chat(model)),
  responses: agentOf(createOpenAI({ baseURL, apiKey: openaiKey }).responses(model)),
};
const answers = {};
for (const [name, agent] of Object.entries(apis)) {
  answers[`generate, ${name}`] = (await agent.generate(question)).text;
  let streamed = '';
  for await (const piece of (await agent.stream(question)).textStream) streamed += piece;
  answers[`stream, ${name}`] = streamed;
}
console.log(JSON.stringify(answers));
process.exit();
