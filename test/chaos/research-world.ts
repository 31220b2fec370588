import { isObject } from '../../src/base/json.ts';
import { type ScriptedMcpServer, startScriptedMcpServer, textResult } from '../support/scripted-mcp-server.ts';
import {
  mayCallTools,
  type ProviderRequest,
  type ScriptedProvider,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';

/** Steps of research that every run makes before it answers, one tool call more in each. */
const CALLS_OF_STEP = [1, 2] as const;
export const CALLS = CALLS_OF_STEP.reduce((sum, calls) => sum + calls, 0);

const WORDS = 'every run is a log and every reader follows it so nothing is lost when an instance dies'.split(' ');

/** The provider and the tool that all runs of a storm use, and what they saw. */
export interface ResearchWorld extends AsyncDisposable {
  readonly provider: ScriptedProvider;
  readonly tool: ScriptedMcpServer;
  /** Each execution of each tool call, by its key. */
  readonly executions: ReadonlyMap<string, readonly Execution[]>;
  /** Which instances asked for turns of each run, and when, in order. */
  readonly turns: ReadonlyMap<number, readonly AskedTurn[]>;
}

export interface AskedTurn {
  instance: string;
  /** The step of research that it is, from 0 on; undefined for one that asks for no tools any more. */
  step: number | undefined;
  /** Unix milliseconds. */
  at: number;
  /** Whether it was asked for a chat, which ends with its instance. */
  chat: boolean;
  /** When the exchange was over, either way, and whether the gateway closed it before its end. */
  endedAt?: number;
  left?: boolean;
}

export interface Execution {
  /** The instance that asked for it; '' for a server that the request named: any. */
  instance: string;
  /** Unix milliseconds. */
  at: number;
}

/** The question of run `n`. */
export function questionOf(n: number): string {
  return `What becomes of run ${n}?`;
}

/** The one right answer of run `n`. */
export function answerOf(n: number): string {
  return Array.from({ length: 40 }, (_, at) => `${WORDS[(n + at) % WORDS.length]}-${at}`).join(' ');
}

/** A function of clients of plain models: the last call of the last step is one of it, and the answer comes with its output. */
export const FUNCTION = 'look_up';
/** How its output begins. */
export const LOOKED_UP = 'looked up';

/** The arguments of a tool call, by which its executions are counted. */
export function callKey(n: number, step: number, call: number): string {
  return `${n}/${step}/${call}`;
}

/**
 * A provider whose answers depend on the request alone, so that a step that is repeated by another instance goes on
 * as it should, and a tool that counts. `pace`: milliseconds between two streamed words.
 */
export async function startResearchWorld(options: {
  pace: number;
  toolMs: number;
  /** Whether a question was asked by a chat client. */
  isChat(run: number): boolean;
}): Promise<ResearchWorld> {
  const executions = new Map<string, Execution[]>();
  const turns = new Map<number, AskedTurn[]>();
  const tool = await startScriptedMcpServer({
    tools: {
      count: {
        definition: { inputSchema: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] } },
        call({ id, args, request, response }) {
          const key = String(args.key);
          const instance = request.url?.split('?')[1] ?? '';
          executions.set(key, [...(executions.get(key) ?? []), { instance, at: Date.now() }]);
          setTimeout(() => {
            const body = { jsonrpc: '2.0', id, result: textResult(`counted ${key}`) };
            response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
          }, options.toolMs);
          return undefined;
        },
      },
    },
  });
  const provider = await startScriptedProvider({
    respond(request) {
      const run = runOf(request);
      const instance = request.path.split('/')[1] ?? '';
      const asked: AskedTurn = { instance, step: stepOf(request), chat: options.isChat(run), at: Date.now() };
      void request.closed.then(({ left }) => {
        asked.endedAt = Date.now();
        asked.left = left;
      });
      turns.set(run, [...(turns.get(run) ?? []), asked]);
      // Requests of a long storm would otherwise fill the memory.
      provider.requests.length = 0;
      return turn({ ...nextTurn(request, run), pace: options.pace });
    },
  });
  return {
    provider,
    tool,
    executions,
    turns,
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      await tool[Symbol.asyncDispose]();
    },
  };
}

/** Which step of research a turn is: the one whose tools were not called before. */
function stepOf({ body }: ProviderRequest): number | undefined {
  if (!mayCallTools({ body }) || isAnswered(body)) return undefined;
  const results = (body.messages ?? []).filter((message) => message.role === 'tool').length;
  let before = 0;
  for (const [step, calls] of CALLS_OF_STEP.entries()) {
    if (results <= before) return step;
    before += calls;
  }
  return undefined;
}

/** Whether the client's function was answered: the text of a turn that was cut may stand behind. */
function isAnswered({ messages = [] }: ProviderRequest['body']): boolean {
  return messages.some(({ role, content }) => role === 'tool' && String(content).startsWith(LOOKED_UP));
}

function nextTurn({ body }: ProviderRequest, run: number) {
  const messages = body.messages ?? [];
  const results = messages.filter((message) => message.role === 'tool').length;
  const ofPlain = (body.tools ?? []).some((tool) => nameOf(tool) === FUNCTION);
  if (!mayCallTools({ body }) || isAnswered(body)) {
    const answer = answerOf(run);
    const written = messages
      .filter((message) => message.role === 'assistant' && typeof message.content === 'string')
      .map((message) => String(message.content))
      .filter((text) => text !== '' && answer.startsWith(text))
      .reduce((longest, text) => (text.length > longest.length ? text : longest), '');
    return { text: answer.slice(written.length) };
  }
  let before = 0;
  for (const [step, calls] of CALLS_OF_STEP.entries()) {
    if (results <= before) {
      const toolCalls = Array.from({ length: calls }, (_, call) => ({
        id: `call_${callKey(run, step, call).replaceAll('/', '_')}`,
        name: ofPlain && before + call === CALLS - 1 ? FUNCTION : toolName(body.tools ?? []),
        arguments: { key: callKey(run, step, call) },
      }));
      return { reasoning: `Step ${step} of run ${run}: ${WORDS.join(' ')}.`, toolCalls };
    }
    before += calls;
  }
  return { text: 'I know enough.' };
}

function runOf({ body }: ProviderRequest): number {
  const found = /What becomes of run (\d+)\?/.exec(JSON.stringify(body.messages));
  return Number(found?.[1] ?? -1);
}

/** MCP tools have the name of their server in front, in a form that the provider allows. */
function toolName(tools: readonly unknown[]): string {
  const name = tools.map(nameOf).find((one) => one.endsWith('count'));
  if (name === undefined) throw new Error('the tool was not offered');
  return name;
}

function nameOf(tool: unknown): string {
  return isObject(tool) && isObject(tool.function) ? String(tool.function.name) : '';
}
