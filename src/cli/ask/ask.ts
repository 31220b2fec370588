import { stat } from 'node:fs/promises';
import type OpenAI from 'openai';
import { TimeoutError } from '../../base/abort.ts';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Effort } from '../../config/schema.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { duration } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { followRun, type RunStart } from './follow-run.ts';
import { ConnectionError, GatewayClient, RefusedError, type SubmittedQuestion } from './gateway-client.ts';
import { Progress } from './progress.ts';
import { answerText, formatEnd, formatReport } from './report.ts';

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

/** Asks a gateway a question, shows the progress of the run, and prints the report. */
export async function ask(options: AskOptions, terminal: Terminal): Promise<ExitCode> {
  if (!/^https?:\/\//i.test(options.baseUrl) || !URL.canParse(options.baseUrl)) {
    terminal.err(`error: ${options.baseUrl} is not an http or https URL; see --base-url and GATEWAY_BASE_URL\n`);
    return EXIT.usage;
  }
  const client = new GatewayClient(options);
  const interrupted = new AbortController();
  const { verbose = false, quiet = false } = options;
  using progress = new Progress({ terminal, clock: systemClock, verbose, quiet });
  using _ = cancelOnInterrupt({ client, progress, terminal, interrupted });
  try {
    const { signal } = interrupted;
    const start = await runStartOf(options, { client, terminal, signal });
    if (start === undefined) return misuse(terminal);
    const onLost = (reason: string) => progress.note(`connection lost, trying again: ${reason}`);
    for await (const event of followRun(client, start, { signal, onLost })) progress.update(event);
  } catch (error) {
    progress[Symbol.dispose]();
    return explain(error, { options, terminal, interrupted, id: progress.view.id ?? options.resume });
  }
  progress[Symbol.dispose]();
  return printEnd(progress, { json: options.json ?? false, quiet, resumed: options.resume !== undefined }, terminal);
}

async function runStartOf(
  options: AskOptions,
  { client, terminal, signal }: { client: GatewayClient; terminal: Terminal; signal: AbortSignal },
): Promise<RunStart | undefined> {
  if (options.resume !== undefined) {
    return options.question === undefined ? { resume: options.resume } : undefined;
  }
  const question = options.question === '-' ? await terminal.readInput() : options.question;
  if (question === undefined || question.trim() === '') return undefined;
  const model = options.model ?? (await firstModel(client, signal));
  const input = await withFiles(question, options.file ?? [], { client, signal });
  const tools = options.store && [
    ...SEARCH_TOOLS,
    { type: 'file_search' as const, vector_store_ids: [...options.store] },
  ];
  return { submit: { model, input, reasoning: options.effort && { effort: options.effort }, ...(tools && { tools }) } };
}

/** Naming one tool in a request leaves out all others, so the search of research models is named, too. */
const SEARCH_TOOLS = [{ type: 'web_search' as const }];

/** The question with its files, in order. @throws UnreadableFile before anything is uploaded. */
async function withFiles(
  question: string,
  files: readonly string[],
  { client, signal }: { client: GatewayClient; signal: AbortSignal },
): Promise<SubmittedQuestion['input']> {
  if (files.length === 0) return question;
  for (const file of files) {
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) throw new UnreadableFile(file);
  }
  const content: OpenAI.Responses.ResponseInputContent[] = [{ type: 'input_text', text: question }];
  for (const file of files) content.push({ type: 'input_file', file_id: await client.upload(file, { signal }) });
  return [{ role: 'user', content }];
}

class UnreadableFile extends Error {
  constructor(path: string) {
    super(`--file ${path}: there is no such file`);
  }
}

async function firstModel(client: GatewayClient, signal: AbortSignal): Promise<string> {
  const models = await client.models({ signal });
  const model = models.find(({ supported_apis: apis }) => apis.includes('responses'));
  if (model === undefined) throw new RefusedError(404, 'this key may use no model that answers questions', undefined);
  return model.id;
}

function misuse(terminal: Terminal): ExitCode {
  terminal.err('error: give one of the three: a question, - to read it from standard input, or --resume <id>\n');
  return EXIT.usage;
}

/** The first Ctrl-C cancels the run, a second one leaves at once. */
function cancelOnInterrupt(parts: {
  client: GatewayClient;
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
    client.cancel(id, { signal: interrupted.signal }).catch((error: unknown) => interrupted.abort(error));
  });
}

function printEnd(
  progress: Progress,
  options: { json: boolean; quiet: boolean; resumed: boolean },
  terminal: Terminal,
): ExitCode {
  const { final, sources } = progress.view;
  if (final === undefined) return EXIT.connection;
  // The time since this command started is meaningless for a run that started before.
  const elapsed = options.resumed ? duration(runSeconds(final) * 1000) : progress.elapsed();
  if (!options.quiet) terminal.err(`${formatEnd(final, { elapsed, sources })}\n`);
  if (options.json) terminal.out(`${JSON.stringify(final, null, 2)}\n`);
  else if (answerText(final) !== '') terminal.out(`${options.quiet ? '' : '\n'}${formatReport(final)}`);
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
  if (error instanceof UnreadableFile) {
    terminal.err(`error: ${error.message}\n`);
    return EXIT.usage;
  }
  if (interrupted.signal.aborted) {
    terminal.err(`Left.${resume}\n`);
    return EXIT.cancelled;
  }
  if (error instanceof RefusedError) {
    const key = error.status === 401 ? ' Give the key with --api-key or GATEWAY_API_KEY.' : '';
    terminal.err(`error: the gateway refused: ${error.message}${key}\n`);
    return EXIT.refused;
  }
  if (error instanceof ConnectionError || error instanceof TimeoutError || id !== undefined) {
    const start = id === undefined ? ' Is a gateway running there? `npx research-gateway` starts one.' : resume;
    terminal.err(`error: ${messageOf(error)}.${start}\n`);
    return EXIT.connection;
  }
  terminal.err(`error: ${messageOf(error)} (from ${options.baseUrl})\n`);
  return EXIT.failed;
}
