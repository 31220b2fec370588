import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { currentTrace } from '../../base/telemetry/trace-context.ts';
import type { PlainRequest } from '../../plain/request.ts';
import { requireExactMetadata } from '../../protocol/requests/exact-numbers.ts';
import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import type { Submission, SubmissionResult } from '../../runs/submission.ts';
import { asTurnMessage } from '../../runs/submitting/history.ts';
import type { RunRecord } from '../../store/run-store.ts';
import { estimateRequest } from '../../upstream/decoding/estimate.ts';
import { costOf, highestKnownPrice } from '../../upstream/price.ts';
import { tagOf } from '../../usage/tag.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import type { AdmittedRequest } from '../limits/admission.ts';
import type { WorstCase } from '../limits/worst-case.ts';
import { repeatKeyOf } from '../retries.ts';

/** A run to submit, and the request it came with. */
export interface RunSubmission {
  req: IncomingMessage;
  /** Absent on a WebSocket, where nobody repeats requests and there are no headers. */
  res?: ServerResponse | undefined;
  identity: Identity;
  /** The body's bytes. */
  raw: Buffer;
  submission: Omit<Submission, 'caller' | 'repeat' | 'admit' | 'trace' | 'tag'>;
  /** Metadata of the body that contains the tag, if the run stores no metadata. */
  tagged?: unknown;
  /** The tools of the body, unless its provider makes the response. */
  tools?: readonly ResponseTool[] | undefined;
  /** The most that the run is expected to use, by its body. */
  worst: WorstCase;
}

/** The path of each API whose submissions may be repeated. Chat completions may not. */
const REPEATABLE: Partial<Record<Submission['api'], string>> = {
  responses: '/v1/responses',
  unstored: '/v1/responses',
  async: '/v1/async',
};

/**
 * Submits a run under the limits of its key. A repeated request returns the run of the first one, and sets
 * `idempotent-replayed` (docs/api.md, "In general").
 * @throws GatewayError if it is refused; nothing of a refused submission counts.
 */
export async function submitRun(deps: AppDeps, request: RunSubmission): Promise<SubmissionResult> {
  const { req, res, identity, raw, submission } = request;
  const { key, caller, config } = identity;
  const path = res && REPEATABLE[submission.api];
  if (Object.keys(submission.metadata).length > 0) requireExactMetadata(raw);
  await requireStores(deps, request);
  const worst = withThread(request.worst, submission.request);
  let admitted: AdmittedRequest | undefined;
  try {
    const { run, replayed } = await deps.runs.submit({
      ...submission,
      caller,
      trace: currentTrace(),
      tag: tagOf(req.headers, request.tagged ?? submission.metadata),
      ...(path !== undefined && { repeat: repeatKeyOf(req, { path, raw, caller }) }),
      admit: async (id: RunId, { waits }) => {
        admitted = await deps.admission.admit({
          key,
          id,
          runMs: config.runs.maxRunMs,
          waits,
          tokens: worst.input + worst.output,
          cost: worstCost(request, worst),
          res,
        });
        return admitted.held;
      },
    });
    identity.context.run = run.id;
    if (replayed) {
      res?.setHeader('idempotent-replayed', 'true');
      await Promise.all([admitted?.undo(), deps.attachments.discard(identity.context)]);
    } else deps.attachments.keep(identity.context);
    return { run, replayed };
  } catch (thrown) {
    await admitted?.undo();
    throw thrown;
  }
}

/**
 * The run of which a refused submission is a repeat. What the first try has changed since, such as its conversation, is no
 * reason to refuse the next one. Marks the answer like `submitRun`.
 */
export async function findRepeatedRun(
  deps: AppDeps,
  { req, res, identity }: Call,
  raw: Buffer,
): Promise<RunRecord | undefined> {
  const { caller, context } = identity;
  const run = await deps.runs.findRepeated(repeatKeyOf(req, { path: '/v1/responses', raw, caller }), caller);
  if (!run) return undefined;
  context.run = run.id;
  res.setHeader('idempotent-replayed', 'true');
  await deps.attachments.discard(context);
  return run;
}

/** Checks that the vector stores to search are the user's. @throws GatewayError `not_found` with the place of the id. */
async function requireStores({ vectorStores }: AppDeps, { identity, tools = [] }: RunSubmission): Promise<void> {
  const checked = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'file_search') continue;
    for (const [at, id] of tool.vector_store_ids.entries()) {
      if (checked.has(id)) continue;
      checked.add(id);
      const param = `tools[${index}].vector_store_ids[${at}]`;
      await vectorStores.find(identity.caller.user, id).catch((thrown: unknown) => {
        if (!(thrown instanceof GatewayError) || thrown.code !== 'not_found') throw thrown;
        throw new GatewayError('not_found', `${param}: ${thrown.message}`, { param, cause: thrown });
      });
    }
  }
}

/** A model reads its whole thread, which the body may only refer to: by ids of responses, conversations and files. */
function withThread({ input, output }: WorstCase, request: Submission['request']): WorstCase {
  return { input: Math.max(input, threadTokens(request, { input })), output };
}

function threadTokens(request: Submission['request'], { input }: Pick<WorstCase, 'input'>): number {
  if (request.kind === 'proxy') return 0;
  if (request.kind === 'plain') return estimateRequest(request.messages, request.tools);
  const thread = estimateRequest([...request.history, ...request.conversation].map(asTurnMessage));
  // Research that goes on reads its transcript, and then what the request adds.
  return Math.max(thread, (request.goesOn?.tokens ?? 0) + input);
}

/** The most that a run is expected to cost; undefined if none of its routes has a price. */
function worstCost({ identity, submission }: RunSubmission, worst: WorstCase): number | undefined {
  const { key, config } = identity;
  const model = config.models[submission.model];
  const { request } = submission;
  const price = model && highestKnownPrice(key.routes[submission.model] ?? model.routes);
  if (!price) return undefined;
  const isResearch = model.kind === 'research' && request.kind === 'research';
  const bound = isResearch ? (request.maxCost ?? model.research.budgets[request.effort]?.cost) : undefined;
  if (request.kind === 'proxy' || (request.kind === 'plain' && isOneTurn(request))) return costOf(price, worst);
  // Later turns read what earlier ones wrote, so all tokens may be input and output.
  const tokens = worst.input + worst.output;
  return bound ?? costOf(price, { input: tokens, output: tokens });
}

/** Whether one turn ends the response: only calls that the gateway makes, and compaction, need another one. */
function isOneTurn({ hosted, mcpServers, compactAt }: PlainRequest): boolean {
  return (hosted?.builtin.length ?? 0) + mcpServers.length === 0 && compactAt === undefined;
}
