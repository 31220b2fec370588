import { toSeconds } from '../../base/clock.ts';
import { publicId, type RunId } from '../../base/ids.ts';
import { newResponse, type ResponseObject } from '../../protocol/response.ts';
import type { NewRun } from '../../store/run-store.ts';
import { publicConversationId } from '../conversations.ts';
import { eventFrames } from '../executing/log/event-frames.ts';
import { listedOf } from '../stored/listed.ts';
import type { Submission } from '../submission.ts';

/** The response object of `response.created`: the submission, before anything has happened. */
export function createdResponse(
  run: { id: RunId; createdAt: number },
  submission: Pick<
    Submission,
    'api' | 'model' | 'background' | 'metadata' | 'previousResponseId' | 'conversation' | 'request' | 'shown'
  >,
): ResponseObject {
  const { request, conversation } = submission;
  const research = request.kind === 'research' ? request : undefined;
  const modelRequest = request.kind === 'proxy' ? undefined : request;
  return newResponse({
    id: publicId('responses', run.id),
    created_at: toSeconds(run.createdAt),
    model: submission.model,
    background: submission.background,
    metadata: submission.metadata,
    instructions: modelRequest?.instructions ?? null,
    previous_response_id: submission.previousResponseId,
    ...(conversation && { conversation: { id: publicConversationId(conversation.id) } }),
    max_output_tokens: modelRequest?.maxOutputTokens ?? null,
    max_tool_calls: research?.maxToolCalls ?? null,
    temperature: modelRequest?.temperature ?? 1,
    top_p: modelRequest?.topP ?? 1,
    tool_choice: research?.toolChoice ?? 'auto',
    text: {
      format: modelRequest?.format ?? { type: 'text' },
      ...(request.kind === 'plain' && request.verbosity !== undefined && { verbosity: request.verbosity }),
    },
    reasoning: { effort: research?.effort ?? 'medium', summary: modelRequest?.reasoningSummary ?? null },
    store: submission.api !== 'unstored',
    ...(research?.charts && { charts: true }),
    ...submission.shown,
  });
}

/**
 * A submission as the store takes it, with the record and the first two events of the log (docs/api.md, "Events"), and the
 * response in those events.
 */
export function newRun(
  id: RunId,
  submission: Submission,
  options: { now: number; retentionMs: number; request: string },
): { run: NewRun; response: ResponseObject } {
  const { request } = submission;
  const response = createdResponse({ id, createdAt: options.now }, submission);
  const frames = eventFrames([
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
  ]);
  const run: NewRun = {
    id,
    user: submission.caller.user,
    keyId: submission.caller.keyId,
    api: submission.api,
    model: submission.model,
    kind: request.kind === 'proxy' ? 'proxy' : 'research',
    createdAt: options.now,
    expiresAt: options.now + options.retentionMs,
    request: options.request,
    metadata: JSON.stringify(submission.metadata),
    listed: listedOf(response),
    frames,
    frameCount: 2,
  };
  return { run, response };
}
