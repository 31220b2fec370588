import { linkSignals, TimeoutError } from '../base/abort.ts';
import { GatewayError } from '../base/errors.ts';
import type { IncompleteReason } from '../protocol/response.ts';
import type { TurnMessage, TurnRequest } from '../upstream/turn.ts';
import { findCitations } from './citations.ts';
import type { Context } from './context.ts';
import { Continuation } from './continuation.ts';
import { RepetitionWatch } from './repetition.ts';
import { noted, type ResearchRun } from './run.ts';
import type { ResearchOutcome, Step } from './steps.ts';
import { answerCheck, type StructuredFormat } from './structured.ts';
import { estimateTokens } from './tokens.ts';
import { afterCut, ContextWall, type Finish, sampling } from './turns.ts';

/** The answer turn: without tools, streamed as the message as it is written. */

/** The least time that writing the answer has, in milliseconds, however long the research took. */
const MIN_ANSWER_MS = 180_000;
/** The part of a run's minutes that is the answer's. */
const ANSWER_SHARE = 0.1;
/** A provider that ignores the limit on output is stopped at this multiple of it, by the gateway's estimate. */
const OVERRUN = 1.5;
const OVERRUN_TOKENS = 64;

/**
 * Writes the answer, or the rest of one that was cut.
 * @throws GatewayError `upstream_error`, `invalid_output` and others of contract section 3.2 where none can be had.
 */
export async function* writeAnswer(run: ResearchRun, context: Context): AsyncGenerator<Step, ResearchOutcome> {
  const timeoutMs = Math.max(MIN_ANSWER_MS, run.budget.minutes * 60_000 * ANSWER_SHARE);
  using limit = linkSignals([run.signal], { what: 'the answer', timeoutMs });
  const { format } = run.request;
  const { text, cut } =
    format === null || format.type === 'text'
      ? yield* writeText(run, { context, signal: limit.signal })
      : yield* writeStructured(run, { context, signal: limit.signal, format });
  const { annotations, unknownMarkers } = findCitations(text, run.state.sources);
  if (unknownMarkers.length > 0)
    run.log.warn({ markers: unknownMarkers }, 'the answer cites sources that do not exist');
  return { annotations, incomplete: cut ?? run.state.forced?.reason ?? withoutSources(run) };
}

interface Answering {
  context: Context;
  signal: AbortSignal;
}

interface Written {
  text: string;
  /** Why the text ends before its end. */
  cut: IncompleteReason | null;
}

async function* writeText(run: ResearchRun, answering: Answering): AsyncGenerator<Step, Written> {
  const { context, signal } = answering;
  const written: Written = { text: run.answerSoFar, cut: null };
  let empty = false;
  for (let cuts = 0; ; ) {
    try {
      const turn = { ...answering, before: written.text, tail: answerTail(run, { soFar: written.text }) };
      const finish = yield* streamAnswer(run, turn, written);
      if (finish) {
        yield { type: 'note', entry: noted(run.state, { t: 'spent', usage: finish.usage }) };
        if (finish.reason === 'content_filter') {
          throw new GatewayError('upstream_error', 'The provider stopped the answer by its content filter.');
        }
        if (finish.reason === 'length') written.cut = 'max_output_tokens';
      }
      if (written.text.trim() !== '') return written;
      written.cut = null;
      if (empty) throw new GatewayError('upstream_error', 'The provider gave an empty answer twice.');
      empty = true;
    } catch (thrown) {
      run.signal.throwIfAborted();
      if (signal.reason instanceof TimeoutError) return outOfTime(written, thrown);
      cuts++;
      yield* recover(run, { thrown, cuts, context });
    }
  }
}

/** Streams one turn into `written`. Undefined where this side stopped it; `written.cut` says why. */
async function* streamAnswer(
  run: ResearchRun,
  turn: Answering & { before: string; tail: readonly TurnMessage[] },
  written: Written,
): AsyncGenerator<Step, Finish | undefined> {
  const continuation = new Continuation(turn.before);
  const repetition = new RepetitionWatch();
  const most = outputLimit(run) * OVERRUN + OVERRUN_TOKENS;
  let started = turn.before !== '';
  let thought = false;
  for await (const part of run.chat.turn(answerRequest(run, turn), { signal: turn.signal })) {
    if (part.type === 'reasoning') {
      // Items do not interleave: what a model thinks after it began to write is not shown.
      if (started) continue;
      thought = true;
      yield { type: 'reasoning', delta: part.delta };
    } else if (part.type === 'text' || part.type === 'finish') {
      const fresh = part.type === 'text' ? continuation.push(part.delta) : continuation.end();
      if (thought && !started) yield { type: 'reasoning_end', status: 'completed' };
      thought = false;
      if (fresh !== '') {
        started = true;
        written.text += fresh;
        yield { type: 'answer', delta: fresh };
      }
      if (part.type === 'finish') return part;
      if (repetition.push(fresh)) written.cut = 'stuck';
      else if (written.text.length > most && estimateTokens(written.text) > most) written.cut = 'max_output_tokens';
      if (written.cut) {
        yield spentByEstimate(run, turn, written.text.slice(turn.before.length));
        return undefined;
      }
    }
  }
  throw new GatewayError('upstream_error', 'The provider ended its stream without finishing.');
}

/** One JSON value, checked before anything of it is shown; one repair turn (contract section 3, `text.format`). */
async function* writeStructured(
  run: ResearchRun,
  answering: Answering & { format: StructuredFormat },
): AsyncGenerator<Step, Written> {
  const { format } = answering;
  const check = answerCheck(format);
  const tail = answerTail(run, { soFar: '' });
  let problem = '';
  for (const attempt of ['first', 'repair']) {
    const answer = yield* collectAnswer(run, { ...answering, tail });
    const checked = check(answer.text);
    if ('text' in checked) {
      yield { type: 'answer', delta: checked.text };
      return { text: checked.text, cut: null };
    }
    problem = answer.cut ? `the answer was cut at ${outputLimit(run)} tokens` : checked.problem;
    run.log.info({ attempt, problem }, 'structured answer does not validate');
    const repair = run.prompts.repair({ problem, schema: schemaText(format) });
    tail.push({ role: 'assistant', content: answer.text }, { role: 'user', content: repair });
  }
  throw new GatewayError('invalid_output', `The answer does not fit text.format: ${problem}.`);
}

/** A turn whose text is kept back until it was checked. */
async function* collectAnswer(
  run: ResearchRun,
  answering: Answering & { tail: readonly TurnMessage[]; format: StructuredFormat },
): AsyncGenerator<Step, { text: string; cut: boolean }> {
  for (let cuts = 0; ; ) {
    let text = '';
    try {
      const turn = { ...answering, before: '' };
      for await (const part of run.chat.turn(answerRequest(run, turn), { signal: answering.signal })) {
        if (part.type === 'reasoning') yield { type: 'reasoning', delta: part.delta };
        if (part.type === 'text') text += part.delta;
        if (part.type !== 'finish') continue;
        yield {
          type: 'reasoning_end',
          status: 'completed',
          entry: noted(run.state, { t: 'spent', usage: part.usage }),
        };
        return { text, cut: part.reason === 'length' };
      }
      throw new GatewayError('upstream_error', 'The provider ended its stream without finishing.');
    } catch (thrown) {
      run.signal.throwIfAborted();
      if (answering.signal.reason instanceof TimeoutError) throw noAnswerInTime(thrown);
      cuts++;
      yield* recover(run, { thrown, cuts, context: answering.context });
    }
  }
}

async function* recover(
  run: ResearchRun,
  failure: { thrown: unknown; cuts: number; context: Context },
): AsyncGenerator<Step> {
  try {
    yield* afterCut(run, failure);
  } catch (thrown) {
    if (!(thrown instanceof ContextWall)) throw thrown;
    throw new GatewayError('context_length_exceeded', thrown.message, { cause: thrown });
  }
}

function outOfTime(written: Written, cause: unknown): Written {
  if (written.text.trim() !== '') return { ...written, cut: 'budget' };
  throw noAnswerInTime(cause);
}

function noAnswerInTime(cause: unknown): GatewayError {
  return new GatewayError('upstream_timeout', 'No answer was written in time.', { cause });
}

function spentByEstimate(run: ResearchRun, turn: Answering & { tail: readonly TurnMessage[] }, text: string): Step {
  const { estimate } = turn.context.messages(turn.tail);
  const usage = {
    inputTokens: estimate,
    cachedTokens: 0,
    outputTokens: estimateTokens(text),
    reasoningTokens: 0,
    estimated: true,
  };
  return { type: 'note', entry: noted(run.state, { t: 'spent', usage }) };
}

function answerRequest(
  run: ResearchRun,
  turn: { context: Context; tail: readonly TurnMessage[]; before: string },
): TurnRequest {
  const { format } = run.request;
  return {
    messages: turn.context.messages(turn.tail).messages,
    maxOutputTokens: Math.max(16, outputLimit(run) - estimateTokens(turn.before)),
    ...(format === null || format.type === 'text' ? {} : { responseFormat: responseFormat(format) }),
    ...sampling(run),
  };
}

function outputLimit(run: ResearchRun): number {
  return run.request.maxOutputTokens ?? run.model.max_completion_tokens;
}

/** The messages that ask for the answer; with `soFar`, for the rest of one that was cut. */
function answerTail(run: ResearchRun, options: { soFar: string }): TurnMessage[] {
  const { state, prompts, request } = run;
  const sources = state.sources
    .all()
    .map((source) => `[${source.id}] ${(source.title || source.url).slice(0, MAX_TITLE)}`);
  const ask = prompts.answer({
    forced: state.forced ? `Research has ended early (${state.forced.why}); say what remains open.` : '',
    sources: boundedList(sources),
    format: request.format === null || request.format.type === 'text' ? '' : schemaText(request.format),
  });
  const messages: TurnMessage[] = [{ role: 'user', content: ask }];
  if (options.soFar === '') return messages;
  return [
    ...messages,
    { role: 'assistant', content: options.soFar },
    { role: 'user', content: prompts.continueAnswer() },
  ];
}

const MAX_TITLE = 80;
/** Sources that are listed with their titles; the numbers of all stand in the findings. */
const MAX_LISTED = 100;

function boundedList(sources: readonly string[]): string {
  if (sources.length === 0) return 'none';
  if (sources.length <= MAX_LISTED) return sources.join('; ');
  return `${sources.slice(0, MAX_LISTED).join('; ')}; and up to [${sources.length}], as numbered in the tool results`;
}

function schemaText(format: StructuredFormat): string {
  const shape =
    format.type === 'json_schema'
      ? `that is valid under this JSON Schema: ${JSON.stringify(format.schema)}`
      : 'that is an object';
  return `The answer must be one JSON value ${shape}. Write nothing but that JSON.`;
}

/** `text.format` in the words of chat completions. */
function responseFormat(format: StructuredFormat): NonNullable<TurnRequest['responseFormat']> {
  if (format.type === 'json_object') return { type: 'json_object' };
  const { name = 'answer', schema, strict } = format;
  return { type: 'json_schema', json_schema: { name, schema, ...(strict === undefined ? {} : { strict }) } };
}

/** A run that looked things up and found nothing says so; one that needed no sources does not have to. */
function withoutSources({ state }: ResearchRun): IncompleteReason | null {
  const lookedUp = state.entries.some(
    (entry) => entry.t === 'turn' && entry.calls.some((call) => 'call' in call && call.name !== 'execute_python'),
  );
  return lookedUp && state.sources.size === 0 ? 'no_sources' : null;
}
