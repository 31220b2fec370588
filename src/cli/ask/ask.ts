import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';
import { z } from 'zod';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { follow } from '../../client/follow.ts';
import type { Effort } from '../../config/schema.ts';
import { upgradeEvent } from '../../protocol/event-upgrade.ts';
import { runEvent } from '../../protocol/events.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { lossNote, lossOf, openGateway, refusalOf } from '../gateway-client.ts';
import { duration } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { Unusable } from '../unusable.ts';
import { AttachedFiles } from './attached-files.ts';
import { Progress } from './progress.ts';
import { formatEnd, formatReport } from './report.ts';

export interface AskOptions {
  baseUrl: string;
  apiKey: string;
  /** The question; `-` reads it from standard input. Not needed to resume. */
  question?: string | undefined;
  /** Id of a run to follow, instead of a question. */
  resume?: string | undefined;
  /** Paths of files that the question is about, which are uploaded first. */
  file?: readonly string[] | undefined;
  /** Ids of vector stores to search in addition to the web. */
  store?: readonly string[] | undefined;
  model?: string | undefined;
  effort?: Effort | undefined;
  /** Print the response object instead of the report. */
  json?: boolean | undefined;
  /** Show thoughts and tool calls line by line. */
  verbose?: boolean | undefined;
  quiet?: boolean | undefined;
}

/** After how long without an answer the command says so, in milliseconds. */
const WAITING_MS = 5000;

/** Asks a gateway a question, shows the progress of the run, and prints the report. */
export async function ask(options: AskOptions, terminal: Terminal): Promise<ExitCode> {
  if (!/^https?:\/\//i.test(options.baseUrl) || !URL.canParse(options.baseUrl)) {
    terminal.err(`error: ${options.baseUrl} is not an http or https URL; see --base-url and GATEWAY_BASE_URL\n`);
    return EXIT.usage;
  }
  const client = openGateway(options);
  const interrupted = new AbortController();
  const { verbose = false, quiet = false } = options;
  using progress = new Progress({ terminal, clock: systemClock, verbose, quiet });
  using _ = cancelOnInterrupt({ client, progress, terminal, interrupted });
  let waiting: NodeJS.Timeout | undefined;
  try {
    const { signal } = interrupted;
    const question = await questionOf(options, { terminal, signal });
    waiting = setTimeout(() => progress.note(`no answer yet from ${options.baseUrl}`), WAITING_MS);
    const id = await runOf({ ...options, question }, { client, signal });
    if (id === undefined) return misuse(terminal);
    progress.view.id = id;
    const onLost = (reason: unknown) => progress.note(lossNote(reason));
    for await (const event of follow(client, id, { signal, onLost })) {
      clearTimeout(waiting);
      // A gateway of another version may have other events, and its fields may be those of then.
      const { data } = runEvent.safeParse(upgradeEvent(event));
      if (data) progress.update(data);
    }
  } catch (error) {
    progress[Symbol.dispose]();
    return explain(error, { options, terminal, interrupted, id: progress.view.id ?? options.resume });
  } finally {
    clearTimeout(waiting);
  }
  progress[Symbol.dispose]();
  return printEnd(progress, { json: options.json ?? false, quiet, resumed: options.resume !== undefined }, terminal);
}

async function questionOf(
  { question, resume }: AskOptions,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<string | undefined> {
  return question === '-' && resume === undefined ? await terminal.readInput(signal) : question;
}

/** The id of the run to follow, which is submitted unless it is named; undefined if the options say neither. */
async function runOf(
  options: AskOptions,
  { client, signal }: { client: OpenAI; signal: AbortSignal },
): Promise<string | undefined> {
  const { question } = options;
  if (options.resume !== undefined) return question === undefined ? options.resume : undefined;
  if (question === undefined || question.trim() === '') return undefined;
  const model = options.model ?? (await firstModel(client, signal));
  const files = new AttachedFiles(client, options.file ?? []);
  const tools: OpenAI.Responses.Tool[] | undefined = options.store && [
    ...SEARCH_TOOLS,
    { type: 'file_search', vector_store_ids: [...options.store] },
  ];
  const reasoning = options.effort && { effort: options.effort };
  const body = { model, background: true, ...(reasoning && { reasoning }), ...(tools && { tools }) };
  // The client repeats a request that got no answer; the same key never makes a second run.
  const headers = { 'Idempotency-Key': randomUUID() };
  return await files.with(question, signal, async (input) => {
    return (await client.responses.create({ ...body, input }, { headers, signal })).id;
  });
}

/** Naming one tool in a request leaves out all others, so the search of research models is named, too. */
const SEARCH_TOOLS = [{ type: 'web_search' as const }];

const modelList = z.array(z.object({ id: z.string(), supported_apis: z.array(z.string()) }));

async function firstModel(client: OpenAI, signal: AbortSignal): Promise<string> {
  const { data } = await client.models.list({ signal });
  const model = modelList.parse(data).find(({ supported_apis: apis }) => apis.includes('responses'));
  if (!model) throw new Unusable(EXIT.refused, 'the gateway refused: this key may use no model that answers questions');
  return model.id;
}

function misuse(terminal: Terminal): ExitCode {
  terminal.err('error: give one of the three: a question, - to read it from standard input, or --resume <id>\n');
  return EXIT.usage;
}

/** The first Ctrl-C cancels the run, a second one leaves at once. */
function cancelOnInterrupt(parts: {
  client: OpenAI;
  progress: Progress;
  terminal: Terminal;
  interrupted: AbortController;
}): Disposable {
  const { client, progress, terminal, interrupted } = parts;
  let cancelling = false;
  return terminal.onSignal(['SIGINT'], () => {
    const { id } = progress.view;
    if (cancelling || id === undefined) {
      interrupted.abort(new Error('interrupted'));
      return;
    }
    cancelling = true;
    progress.view.phase = 'cancelling';
    progress.note('cancelling; Ctrl-C again leaves at once');
    // The run's terminal event ends the command; if the cancel fails, the command leaves.
    client.responses.cancel(id, { signal: interrupted.signal }).catch((error: unknown) => interrupted.abort(error));
  });
}

function printEnd(
  progress: Progress,
  options: { json: boolean; quiet: boolean; resumed: boolean },
  terminal: Terminal,
): ExitCode {
  const { final, sources, id } = progress.view;
  if (final === undefined) {
    const advice = `Use the gateway's version: research-gateway ask --resume ${id}`;
    terminal.err(`error: the gateway ended the run in a way that this version does not understand. ${advice}\n`);
    return EXIT.connection;
  }
  // The time since this command started is meaningless for a run that started before.
  const elapsed = options.resumed ? duration(runSeconds(final) * 1000) : progress.elapsed();
  if (!options.quiet) terminal.err(`${formatEnd(final, { elapsed, sources })}\n`);
  const report = formatReport(final);
  if (options.json) terminal.out(`${JSON.stringify(final, null, 2)}\n`);
  else if (report !== '') terminal.out(`${options.quiet ? '' : '\n'}${report}`);
  if (final.status === 'cancelled') return EXIT.cancelled;
  return final.status === 'completed' ? EXIT.completed : EXIT.failed;
}

function runSeconds({ created_at, started_at, completed_at }: ResponseObject): number {
  const start = started_at ?? created_at;
  return (completed_at ?? start) - start;
}

function explain(
  error: unknown,
  context: { options: AskOptions; terminal: Terminal; interrupted: AbortController; id: string | undefined },
): ExitCode {
  const { options, terminal, interrupted, id } = context;
  const resume = id === undefined ? '' : ` The run may go on; follow it with: research-gateway ask --resume ${id}`;
  if (error instanceof Unusable) {
    terminal.err(`error: ${error.message}\n`);
    return error.code;
  }
  if (interrupted.signal.aborted) {
    terminal.err(`Left.${resume}\n`);
    return EXIT.cancelled;
  }
  const refusal = refusalOf(error);
  // A run that goes on can be followed once the gateway works again.
  if (refusal && (id === undefined || refusal.status < 500)) {
    const key = refusal.status === 401 ? ' Give the key with --api-key or GATEWAY_API_KEY.' : '';
    terminal.err(`error: the gateway refused: ${refusal.message}${key}\n`);
    return EXIT.refused;
  }
  if (error instanceof OpenAI.APIConnectionError || id !== undefined) {
    const start = id === undefined ? ' Is a gateway running there? `npx research-gateway` starts one.' : resume;
    terminal.err(`error: ${lossOf(error)}.${start}\n`);
    return EXIT.connection;
  }
  terminal.err(`error: ${messageOf(error)} (from ${options.baseUrl})\n`);
  return EXIT.failed;
}
