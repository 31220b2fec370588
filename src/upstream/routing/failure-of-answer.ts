import { isObject, scalarText } from '../../base/json.ts';
import type { SecretMask } from '../../base/secrets/secret-mask.ts';
import { parseLimitedJson } from '../../protocol/requests/json-spans.ts';
import { brokenChoice } from '../dialects/stream-errors.ts';
import { AttemptFailure, type AttemptFailureDetails, brokenStream } from './attempt-failure.ts';
import { saysContextLength } from './context-length.ts';
import { blameOf } from './refusals.ts';
import { type AnswerHeaders, durationMs, retryAfterMs } from './retry-after.ts';

/** What a provider answered instead of a stream. */
export interface ProviderRefusal {
  status: number;
  headers: AnswerHeaders;
  /** The body, possibly cut. */
  text: string;
}

/** How much of a provider's message is examined, in characters: patterns over more take too long. */
const MAX_EXAMINED = 16 * 1024;

/** The failure that an HTTP status other than 2xx means. */
export function failureOfAnswer(answer: ProviderRefusal, mask: SecretMask, now: number): AttemptFailure {
  const { status } = answer;
  const text = answer.text.slice(0, MAX_EXAMINED);
  const wait = retryAfterMs(answer.headers, now, status === 429) ?? (status === 429 ? waitIn(text) : undefined);
  const detail = mask.cleanMessage(errorText(answer.text));
  const message = detail === '' ? `HTTP status ${status}` : `HTTP status ${status}: ${detail}`;
  const codes = codesIn(parseLimitedJson(answer.text));
  const details = { status, codes, retryAfterMs: wait, blames: blameOf(status, text) };
  const failure = (more: Pick<AttemptFailureDetails, 'kind' | 'advice' | 'unhealthy' | 'blames'>) =>
    new AttemptFailure(message, { ...details, ...more });
  if (status === 413 || exceedsMinute(text) || (status !== 429 && saysContextLength(text))) {
    return failure({ kind: 'context_length', advice: 'elsewhere' });
  }
  if (status < 500 && status !== 429 && saysContentFilter(text)) {
    return failure({ kind: 'refused', advice: 'never', blames: 'request' });
  }
  if (status === 429) {
    return failure({ kind: 'rate_limit', advice: isLasting(text) || forbidsRetry(answer) ? 'elsewhere' : 'again' });
  }
  if (TIMEOUTS.has(status)) return failure({ kind: 'timeout', advice: 'again', unhealthy: true });
  if (status >= 500 && !UNSUPPORTED.has(status)) return failure({ kind: 'failed', advice: 'again', unhealthy: true });
  return CONFLICTS.has(status) || couldNotRead(text)
    ? failure({ kind: 'failed', advice: 'again' })
    : failure({ kind: 'refused', advice: 'elsewhere' });
}

/** Statuses of time limits, of what a provider never supports, and of conflicts that are over by the next request. */
const TIMEOUTS = new Set([408, 504, 524]);
const UNSUPPORTED = new Set([501, 505]);
const CONFLICTS = new Set([409, 425]);

/** The failure that an error object inside a stream means. `payload` is the parsed frame. */
export function failureOfStreamError(payload: Record<string, unknown>, mask: SecretMask): AttemptFailure {
  const error = payload.error ?? nestedError(payload);
  if (!error && (payload.choices || payload.response)) return brokenStream('the provider broke the answer off');
  return failureOfErrorObject(error ? { error } : payload, mask);
}

/** The error of a choice, or of a response that failed. */
function nestedError(payload: Record<string, unknown>): unknown {
  const { response } = payload;
  return isObject(response) ? response.error : brokenChoice(payload)?.error;
}

function failureOfErrorObject(payload: Record<string, unknown>, mask: SecretMask): AttemptFailure {
  const text = JSON.stringify(payload.error ?? payload).slice(0, MAX_EXAMINED);
  const detail = mask.cleanMessage(errorText(JSON.stringify(payload)));
  const message = `an error inside the answer: ${detail === '' ? 'no message' : detail}`;
  const status = statusIn(payload);
  const blames = blameOf(status ?? 400, text) === 'credential' ? 'credential' : undefined;
  const failure = (details: AttemptFailureDetails) =>
    new AttemptFailure(message, { codes: codesIn(payload), blames, ...details });
  if (exceedsMinute(text) || saysContextLength(text)) return failure({ kind: 'context_length', advice: 'elsewhere' });
  if (saysContentFilter(text)) return failure({ kind: 'refused', advice: 'never' });
  if (status === 429 || /rate.?limit|too many requests|throttl|insufficient_quota/i.test(text)) {
    const advice = isLasting(text) ? 'elsewhere' : 'again';
    return failure({ kind: 'rate_limit', advice, status: 429, retryAfterMs: waitIn(text) });
  }
  if (couldNotRead(text)) return failure({ kind: 'failed', advice: 'again', status });
  if (status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 409) {
    return failure({ kind: 'refused', advice: 'elsewhere', status });
  }
  if (REFUSALS.test(text)) {
    return failure({ kind: 'refused', advice: 'elsewhere' });
  }
  return failure({ kind: 'failed', advice: 'again', status, unhealthy: true });
}

/** Types and codes that blame the request or the account; of images and prompts in the Responses API. */
const REFUSALS =
  /"(?:(?:invalid_request|authentication|permission|not_found|billing)_error|invalid_(?:prompt|\w{0,20}image\w{0,20})|(?:unsupported_|empty_)?image_\w+)"/;

/** The human-readable part of an error body, in any of the shapes that providers use. */
export function errorText(body: string): string {
  const parsed = parseLimitedJson(body);
  if (parsed === undefined) return /^\s*</.test(body) ? titleOf(body) : body;
  return messageIn(parsed) ?? body;
}

const MESSAGES = ['message', 'error', 'detail', 'msg', 'error_message', 'status_msg', 'base_resp', 'errors', 'reason'];

function messageIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return messageIn(value[0]);
  if (!isObject(value)) return undefined;
  for (const key of MESSAGES) {
    const found = messageIn(value[key]);
    if (found !== undefined && found !== '') return found;
  }
  return undefined;
}

/** The title of an HTML error page of a proxy in front of the provider. */
function titleOf(html: string): string {
  const head = html.slice(0, MAX_EXAMINED);
  const title = /<title[^>]{0,200}>([^<]{1,200})/i.exec(head)?.[1] ?? /<h1[^>]{0,200}>([^<]{1,200})/i.exec(head)?.[1];
  return title?.trim() ?? 'an HTML page';
}

/**
 * Whether the provider's content filter refused the request: the client gets the reason, and no other route is tried in
 * the hope that it lets the request pass.
 */
function saysContentFilter(text: string): boolean {
  return /content_filter|content_policy_violation|content management policy|ResponsibleAIPolicyViolation|rejected (?:as a result of|by) our safety system|moderation_blocked|data_inspection_failed|input was flagged/i.test(
    text,
  );
}

/**
 * Whether the server could not read what its own model wrote, which it will write differently the next time: Groq's codes,
 * Ollama, vLLM with gpt-oss.
 */
function couldNotRead(text: string): boolean {
  return /tool_use_failed|json_validate_failed|output_parse_failed|error parsing tool call|remaining in message header|while expecting start token/i.test(
    text,
  );
}

/** Whether the provider forbids a retry. The official SDKs obey this header too. */
function forbidsRetry({ headers }: ProviderRefusal): boolean {
  return headers['x-should-retry'] === 'false';
}

/** "Please try again in 18.642s", "in 1m9.696s", "in 350ms": the wait in milliseconds. */
function waitIn(text: string): number | undefined {
  const duration = /try again in ((?:\d{1,6}(?:\.\d{1,6})?(?:ms|h|m|s)){1,4})/i.exec(text)?.[1];
  return duration === undefined ? undefined : durationMs(duration);
}

/** Whether the request is above the limit per minute by itself (OpenAI, Groq): only a shorter one can pass. */
function exceedsMinute(text: string): boolean {
  return /request too large for/i.test(text);
}

/** Out of credit or quota. */
function isLasting(text: string): boolean {
  return /insufficient_quota|insufficient.{0,10}(?:balance|credit|funds)|billing|exceeded your current quota/i.test(
    text,
  );
}

/** Fields in which providers put the codes of an error. */
const CODE_FIELDS = ['code', 'type', 'status', 'error_code', 'status_code'];

/** The provider's own codes for an error in any of the shapes that providers use. */
function codesIn(payload: unknown): string[] {
  const body: unknown = Array.isArray(payload) ? payload[0] : payload;
  if (!isObject(body)) return [];
  const places = [body, body.error, body.base_resp].filter(isObject);
  const found = places.flatMap((place) => CODE_FIELDS.map((name) => place[name]));
  return found.filter((code) => typeof code === 'string' || typeof code === 'number').map(String);
}

function statusIn(payload: Record<string, unknown>): number | undefined {
  const error = isObject(payload.error) ? payload.error : payload;
  for (const key of ['status', 'code', 'status_code', 'http_status']) {
    const value = Number(scalarText(error[key]));
    if (Number.isInteger(value) && value >= 400 && value < 600) return value;
  }
  return undefined;
}
