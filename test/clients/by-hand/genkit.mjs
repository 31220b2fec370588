import { openAICompatible } from '@genkit-ai/compat-oai';
import { genkit } from 'genkit';

/** Run by `npm run clients -- genkit` in a folder that has these packages. */
const { baseURL, apiKey, model, question } = JSON.parse(process.argv[2] ?? '{}');
const ai = genkit({ plugins: [openAICompatible({ name: 'gateway', apiKey, baseURL })] });
const asked = { model: `gateway/${model}`, prompt: question };

const { text } = await ai.generate(asked);
const { stream, response } = ai.generateStream(asked);
let streamed = '';
for await (const chunk of stream) streamed += chunk.text;
const whole = (await response).text;
console.log(JSON.stringify({ generate: text, 'generateStream, chunks': streamed, 'generateStream, response': whole }));
process.exit();
