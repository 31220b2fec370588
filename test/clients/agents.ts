import { Agent, type AgentInputItem, OpenAIProvider, Runner, tool, user, webSearchTool } from '@openai/agents';
import { z } from 'zod';
import type { AgentsClient, AgentTurn, Target } from './contract.ts';

function runner({ baseURL, apiKey }: Target): Runner {
  const modelProvider = new OpenAIProvider({ baseURL, apiKey, useResponses: true });
  return new Runner({ modelProvider, tracingDisabled: true });
}

function researcher({ model }: Target, tools: Agent['tools'] = []): Agent {
  return new Agent({ name: 'Researcher', instructions: 'Answer from the documents.', model, tools });
}

export const conversation: AgentsClient['conversation'] = async (target, questions) => {
  const turns: AgentTurn[] = [];
  let history: AgentInputItem[] = [];
  for (const question of questions) {
    const result = await runner(target).run(researcher(target), [...history, user(question)]);
    history = result.history;
    turns.push(turnOf(result, history));
  }
  return turns;
};

export const chained: AgentsClient['chained'] = async (target, questions) => {
  const turns: AgentTurn[] = [];
  for (const question of questions) {
    const previousResponseId = turns.at(-1)?.responseId;
    const options = previousResponseId === undefined ? {} : { previousResponseId };
    const result = await runner(target).run(researcher(target), question, options);
    turns.push(turnOf(result, result.output));
  }
  return turns;
};

interface Finished {
  finalOutput?: unknown;
  lastResponseId: string | undefined;
  runContext: { usage: { totalTokens: number } };
}

function turnOf(result: Finished, items: readonly AgentInputItem[]): AgentTurn {
  return {
    output: String(result.finalOutput),
    items: items.map((item) => item.type ?? 'message'),
    responseId: result.lastResponseId,
    tokens: result.runContext.usage.totalTokens,
  };
}

export const streamed: AgentsClient['streamed'] = async (target, question) => {
  const result = await runner(target).run(researcher(target), question, { stream: true });
  let text = '';
  for await (const delta of result.toTextStream()) text += delta;
  await result.completed;
  return { text, output: String(result.finalOutput) };
};

export const withHostedSearch: AgentsClient['withHostedSearch'] = async (target, question) => {
  const result = await runner(target).run(researcher(target, [webSearchTool()]), question);
  return String(result.finalOutput);
};

const weather = tool({
  name: 'weather',
  description: 'Tells the weather.',
  parameters: z.object({ city: z.string() }),
  execute: async () => 'sunny',
});

export const withFunctionTool: AgentsClient['withFunctionTool'] = async (target, question) => {
  const result = await runner(target).run(researcher(target, [weather]), question);
  return String(result.finalOutput);
};

export const withHandoff: AgentsClient['withHandoff'] = async (target, question) => {
  const guarded: string[] = [];
  const guardrail = {
    name: 'seen',
    execute: async ({ input }: { input: unknown }) => {
      guarded.push(JSON.stringify(input));
      return { tripwireTriggered: false, outputInfo: null };
    },
  };
  const forecaster = new Agent({ name: 'Forecaster', model: target.model, tools: [weather] });
  const desk = new Agent({
    name: 'Desk',
    instructions: 'Hand questions over.',
    model: target.model,
    handoffs: [forecaster],
    inputGuardrails: [guardrail],
  });
  const result = await runner(target).run(desk, question);
  return { output: String(result.finalOutput), agent: result.lastAgent?.name, guarded };
};
