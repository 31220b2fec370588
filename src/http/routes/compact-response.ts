import { fieldError } from '../../base/errors.ts';
import { newRunId, publicId } from '../../base/ids.ts';
import { compactedResponse } from '../../protocol/compaction.ts';
import { parseBody } from '../../protocol/requests/parse.ts';
import { type CompactBody, compactBody } from '../../protocol/requests/requests.ts';
import { estimateRequest } from '../../upstream/decoding/estimate.ts';
import { addUsage } from '../../upstream/decoding/usage.ts';
import { costOf, highestKnownPrice } from '../../upstream/price.ts';
import { noUsage, type TurnMessage, type TurnUsage } from '../../upstream/turn.ts';
import { emptyTotals, totalsOf } from '../../upstream/usage-totals.ts';
import { tagOf } from '../../usage/tag.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import { type Call, refuseNewWork } from '../endpoint.ts';
import { forwardJson } from '../forward.ts';
import { worstCaseOfAnswer } from '../limits/worst-case.ts';
import { type JsonBody, readJson } from '../middleware/body.ts';
import { chooseModel, servingOf } from '../models.ts';
import { ignoredHeader } from '../submission/ignored.ts';
import { readThread } from '../submission/thread.ts';

/**
 * `POST /v1/responses/compact` (docs/api.md, "Counting and compacting"): returns the user's messages and an item that
 * stands for the whole thread. It takes one turn, counted and limited like any call. Models whose provider makes the
 * responses compact there.
 */
export async function compactResponse(deps: AppDeps, call: Call): Promise<Answer> {
  const { identity } = call;
  const body = await readJson(call);
  const { name, model } = chooseModel(identity, body.json.model, 'responses');
  if (model.kind === 'proxy' && !servingOf(identity, name, model).makesResponses) {
    return await forwardJson(deps, call, { body, modelName: name, model, api: 'responses/compact' });
  }
  const { store } = deps.config.current();
  const keeping = { keepMs: store.retentionMs, context: identity.context };
  await deps.attachments.saveFiles(body.json.input, identity.caller, { ...keeping, field: 'input' });
  const { value, ignored } = parseBody(compactBody, body.json);
  const { messages: thread } = await readThread(value, { ...deps, ...identity, name, model, keeping });
  refuseEmpty(thread, value);
  const { sealed, usage } = await compactAndSettle(deps, call, { name, model, body, value, thread });
  const answer = compactedResponse({
    id: publicId('responses', newRunId()),
    created_at: Math.floor(deps.clock.now() / 1000),
    thread,
    sealed,
    usage,
  });
  return json(answer, { headers: ignoredHeader(ignored, body.json) });
}

function refuseEmpty(thread: readonly TurnMessage[], { input }: CompactBody): void {
  if (thread.length > 0) return;
  const what = 'there is nothing to compact. Send input, or previous_response_id.';
  throw fieldError(input ? 'invalid_parameter' : 'missing_parameter', 'input', what);
}

/** Compacts the thread, and counts what the turn used however it ends. */
async function compactAndSettle(
  deps: AppDeps,
  { req, res, identity }: Call,
  {
    name,
    model,
    body,
    value,
    thread,
  }: Pick<ReturnType<typeof chooseModel>, 'name' | 'model'> & {
    body: JsonBody;
    value: CompactBody;
    thread: readonly TurnMessage[];
  },
) {
  refuseNewWork(deps);
  const { key, caller, config, context } = identity;
  const { output, ...read } = worstCaseOfAnswer(body, model.max_completion_tokens);
  const prompt = estimateRequest(thread);
  const worst = { input: Math.max(read.input, prompt), output };
  const price = highestKnownPrice(key.routes[name] ?? model.routes);
  const tag = tagOf(req.headers, body.json.metadata);
  const usage = deps.usage.begin({ key: key.id, team: key.team, model: name, tag });
  let turns: TurnUsage | undefined;
  const cost = price && costOf(price, { input: prompt, output: 0 });
  const sent = { ...emptyTotals(), inputTokens: prompt, cost: cost ?? 0 };
  const admitted = await deps.admission.admit({
    key,
    tokens: worst.input + worst.output,
    cost: price && costOf(price, worst),
    res,
    // Providers report the usage of a turn only at its end.
    usedSoFar: () => (turns ? totalsOf(turns) : sent),
    onNoted: (used) => usage.update(used),
  });
  const onUsage = (turn: TurnUsage) => {
    turns = addUsage(turns ?? noUsage(), turn);
  };
  const { instructions } = value;
  const compacting = { modelName: name, model, key, instructions, thread, onUsage, signal: context.signal };
  let isComplete = false;
  try {
    const compacted = await deps.compactor.compact(compacting, caller);
    isComplete = true;
    return compacted;
  } finally {
    const used = totalsOf(turns ?? noUsage());
    usage.end(used, { failed: !isComplete && !context.disconnected });
    if (used.cost > 0) deps.metrics.cost(name, used.cost, config.server.currency);
    await admitted.settle(used);
  }
}
