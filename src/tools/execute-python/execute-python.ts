import { z } from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { type Tool, type ToolContext, ToolError, type ToolOutput } from '../tool.ts';
import type { OutputLimits } from './messages.ts';
import { SandboxPool } from './sandbox-pool.ts';
import type { Breakdown, SandboxResult } from './sandbox-process.ts';

export interface ExecutePythonOptions {
  /** Time for the code itself, in seconds. */
  timeoutSeconds?: number;
  /** The most memory that Python can have, in MiB; Node and Pyodide need about 200 more. */
  memoryMb?: number;
  /** Runs at the same time; further ones wait. */
  maxConcurrent?: number;
  /** Characters of each kind of output. */
  limits?: OutputLimits;
  /** A spare process that nobody needed for this long is ended, in seconds. */
  idleSeconds?: number;
}

/** `execute_python`, with the processes it keeps. */
export interface ExecutePythonTool extends Tool, AsyncDisposable {
  /** Process ids of the sandboxes that are alive. */
  readonly pids: readonly number[];
}

const MOST_WAITING = 64;
const MOST_CODE_CHARACTERS = 200_000;
/** For loading an interpreter and for waiting behind others, beside the time of the code. */
const WAITING_ALLOWANCE_MS = 45_000;
const DEFAULT_LIMITS: OutputLimits = { stdout: 30_000, stderr: 10_000, result: 20_000 };

const argumentsSchema = z.object({ code: z.string().min(1).max(MOST_CODE_CHARACTERS) });

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    code: {
      type: 'string',
      description: 'Python 3 source. Print what you want to see, or end with an expression: its value is the result.',
    },
  },
  required: ['code'],
  additionalProperties: false,
};

/**
 * The tool `execute_python` (docs/research.md, "Tools"): `{"code"}` -> `{"stdout", "stderr", "result", "error"?}`,
 * where `result` is the `repr()` of the last expression, `error` is `{message, code}`, and `truncated: true` is added
 * where output was cut. Every call runs in a locked-down process of its own; nothing survives it.
 */
export function createExecutePythonTool(options: ExecutePythonOptions = {}): ExecutePythonTool {
  const { timeoutSeconds = 30, memoryMb = 512, maxConcurrent = 4, idleSeconds = 300 } = options;
  const pool = new SandboxPool({
    timeoutMs: timeoutSeconds * 1000,
    memoryMb,
    limits: options.limits ?? DEFAULT_LIMITS,
    maxConcurrent,
    maxWaiting: MOST_WAITING,
    idleMs: idleSeconds * 1000,
  });
  const messages: Readonly<Record<Breakdown, string>> = {
    timeout: `The code ran longer than ${timeoutSeconds} seconds and was stopped.`,
    memory_limit: `The code used more than ${memoryMb} MB of memory and was stopped.`,
    crashed: 'The Python interpreter ended unexpectedly while it ran the code.',
    forged: 'The code interfered with its sandbox and was stopped.',
  };
  return {
    name: 'execute_python',
    description:
      'Runs Python 3 code for calculations and data work. Standard library only; no network, no packages, no host files. ' +
      `Every call starts fresh and may take ${timeoutSeconds} seconds and ${memoryMb} MB. ` +
      'The value of the last expression is returned as `result`; top-level await works.',
    parameters: PARAMETERS,
    timeoutMs: timeoutSeconds * 1000 + WAITING_ALLOWANCE_MS,
    get pids() {
      return pool.pids;
    },
    async call(args: JsonObject, context: ToolContext): Promise<ToolOutput> {
      const { code } = parseArguments(args);
      const run = await pool.run(code, { signal: context.signal, log: context.log });
      if (run.breakdown) context.log.warn({ reason: run.breakdown }, 'a Python run was stopped');
      return toOutput(run, messages);
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

function parseArguments(args: JsonObject): { code: string } {
  const parsed = argumentsSchema.safeParse(args);
  if (parsed.success) return parsed.data;
  throw new ToolError(
    'invalid_arguments',
    `execute_python needs {"code": "..."} with 1 to ${MOST_CODE_CHARACTERS} characters of Python source.`,
  );
}

function toOutput(
  { outcome, breakdown = 'crashed', stdout, stderr, truncated }: SandboxResult,
  messages: Readonly<Record<Breakdown, string>>,
): ToolOutput {
  const stopped = { message: messages[breakdown], code: breakdown === 'forged' ? 'crashed' : breakdown };
  const error = outcome ? outcome.error : stopped;
  const result: JsonObject = {
    stdout,
    stderr,
    result: outcome?.result ?? null,
    ...(error && { error: { message: error.message, code: error.code } }),
    ...(truncated && { truncated }),
  };
  return { sources: [], failed: error !== undefined, result: () => result };
}
