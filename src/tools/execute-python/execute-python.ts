import { z } from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { counted } from '../../base/text.ts';
import { type Tool, type ToolContext, ToolError, type ToolOutput } from '../tool.ts';
import type { OutputLimits } from './messages.ts';
import { SandboxPool } from './sandbox-pool.ts';
import type { SandboxFailure, SandboxResult } from './sandbox-process.ts';

export interface ExecutePythonOptions {
  /** The time limit of the code itself, in seconds. */
  timeoutSeconds?: number;
  /** The memory limit of Python, in MiB; Node and Pyodide need about 200 more. */
  memoryMb?: number;
  /** How many runs may be active at the same time; further ones wait. */
  maxConcurrent?: number;
  /** Limits of each kind of output, in characters. */
  limits?: OutputLimits;
  /** How long an unused spare process is kept, in seconds. */
  idleSeconds?: number;
}

/** `execute_python` with its processes. */
export interface ExecutePythonTool extends Tool, AsyncDisposable {
  /** Process ids of the live sandboxes. */
  readonly pids: readonly number[];
}

const MAX_WAITING = 64;
const MAX_CODE_CHARACTERS = 200_000;
/** How much longer than its code a call may take, for loading an interpreter and waiting its turn. */
const WAITING_ALLOWANCE_MS = 45_000;
const DEFAULT_LIMITS: OutputLimits = { stdout: 30_000, stderr: 10_000, result: 20_000 };

const argumentsSchema = z.object({ code: z.string().min(1).max(MAX_CODE_CHARACTERS) });

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
 * if output was cut. Every call runs in a locked-down process of its own; nothing survives it.
 */
export function createExecutePythonTool(options: ExecutePythonOptions = {}): ExecutePythonTool {
  const { timeoutSeconds = 30, memoryMb = 512, maxConcurrent = 4, idleSeconds = 300 } = options;
  const pool = new SandboxPool({
    timeoutMs: timeoutSeconds * 1000,
    memoryMb,
    limits: options.limits ?? DEFAULT_LIMITS,
    maxConcurrent,
    maxWaiting: MAX_WAITING,
    idleMs: idleSeconds * 1000,
  });
  const messages: Readonly<Record<SandboxFailure, string>> = {
    timeout: `The code ran longer than ${counted(timeoutSeconds, 'second')} and was stopped.`,
    memory_limit: `The code used more than ${memoryMb} MB of memory and was stopped.`,
    crashed: 'The Python interpreter ended unexpectedly while it ran the code.',
    forged: 'The code interfered with its sandbox and was stopped.',
  };
  return {
    name: 'execute_python',
    description:
      'Runs Python 3 code for calculations and data work. Standard library only; no network, no packages, no host files. ' +
      `Every call starts fresh and may take ${counted(timeoutSeconds, 'second')} and ${memoryMb} MB. ` +
      'The value of the last expression is returned as `result`; top-level await works.',
    parameters: PARAMETERS,
    timeoutMs: timeoutSeconds * 1000 + WAITING_ALLOWANCE_MS,
    get pids() {
      return pool.pids;
    },
    async call(args: JsonObject, context: ToolContext): Promise<ToolOutput> {
      const { code } = parseArguments(args);
      const run = await pool.run(code, { signal: context.signal, log: context.log });
      if (run.failure) context.log.warn({ reason: run.failure }, 'a Python run was stopped');
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
    `execute_python needs {"code": "..."} with 1 to ${MAX_CODE_CHARACTERS} characters of Python source.`,
  );
}

function toOutput(
  { outcome, failure = 'crashed', stdout, stderr, truncated }: SandboxResult,
  messages: Readonly<Record<SandboxFailure, string>>,
): ToolOutput {
  const stopped = { message: messages[failure], code: failure === 'forged' ? 'crashed' : failure };
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
