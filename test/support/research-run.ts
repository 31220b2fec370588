import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { RunEvent } from '../../src/protocol/events.ts';
import type { MessageItem, ReasoningItem, ToolCallItem } from '../../src/protocol/items.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import type { ResearchRequest } from '../../src/research/run/request.ts';
import type { Tool } from '../../src/tools/tool.ts';
import type { TurnRequest } from '../../src/upstream/turn.ts';
import { openHarness, question, runToEnd, testTool } from './run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from './scripted-model.ts';

export interface ResearchScript {
  /** The research turns in order; after them the model says that it is ready. A function decides by the request. */
  turns?: ScriptedTurn[] | ((request: TurnRequest, n: number) => ScriptedTurn);
  /** The turns without tools in order; the last is repeated. A function decides by the request. Default: one plain sentence. */
  answers?: ScriptedTurn[] | ((request: TurnRequest) => ScriptedTurn);
  tools?: Tool[];
  config?: GatewayConfig;
  clock?: Clock;
  request?: Partial<ResearchRequest>;
}

export interface ResearchResult {
  response: ResponseObject;
  events: RunEvent[];
  chat: ScriptedModel;
  /** Requests of research turns, and of answer turns. */
  asked: { research: TurnRequest[]; answer: TurnRequest[] };
  calls: ToolCallItem[];
  reasoning: ReasoningItem[];
  message: MessageItem | undefined;
}

const PLAIN_ANSWER: ScriptedTurn = { text: ['This is the answer.'] };

/** Executes one run of a scripted model through all of `runs/`, and reads it to its end. */
export async function runResearch(script: ResearchScript): Promise<ResearchResult> {
  const answers = script.answers ?? [PLAIN_ANSWER];
  const asked: ResearchResult['asked'] = { research: [], answer: [] };
  const chat = new ScriptedModel((request) => {
    if (isAnswerTurn(request)) {
      const n = asked.answer.push(request) - 1;
      if (typeof answers === 'function') return answers(request);
      return answers[n] ?? answers.at(-1) ?? PLAIN_ANSWER;
    }
    const n = asked.research.push(request) - 1;
    const turn = typeof script.turns === 'function' ? script.turns(request, n) : script.turns?.[n];
    return turn ?? { text: ['I am ready.'] };
  });
  await using harness = await openHarness({
    chat,
    tools: script.tools ?? [lookup()],
    ...(script.config ? { config: script.config } : {}),
    ...(script.clock ? { clock: script.clock } : {}),
  });
  const { events, response } = await runToEnd(harness, question(script.request ? { research: script.request } : {}));
  return {
    response,
    events,
    chat,
    asked,
    calls: response.output.filter((item) => item.type === 'tool_call'),
    reasoning: response.output.filter((item) => item.type === 'reasoning'),
    message: response.output.findLast((item) => item.type === 'message'),
  };
}

/** A tool that finds one page for every `q`. */
export function lookup(): Tool {
  return testTool('lookup', ({ q }) => ({
    result: JSON.stringify({ found: `All about ${q}.` }),
    sources: [{ url: `https://pages.example/${q}`, title: `On ${q}`, snippet: `About ${q}.`, kind: 'read' }],
  }));
}

/** Calls of `lookup`, one for each word. */
export function lookups(...words: string[]): { name: string; arguments: unknown }[] {
  return words.map((q) => ({ name: 'lookup', arguments: { q } }));
}

/** The error in a failed tool call. */
export function toolError(call: ToolCallItem | undefined): { message: string; code: string } {
  assert.equal(call?.status, 'failed');
  return JSON.parse(call.result ?? '{}').error;
}

/** All tool results in a request, in order. */
export function toolMessages(request: TurnRequest | undefined): string[] {
  return (request?.messages ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}

/** The text of all messages of a request. */
export function textOf(request: TurnRequest | undefined): string {
  return JSON.stringify(request?.messages ?? []);
}
