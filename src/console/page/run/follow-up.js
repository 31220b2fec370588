import { app, ask } from '../app.js';
import { asText } from '../format.js';
import { html } from '../lib/preact.js';
import { Composer } from '../parts/composer.js';
import { Link } from '../parts/link.js';
import { isProposal, isQuestion, PlanToApprove } from '../parts/plan.js';
import { useIdempotencyKey } from '../parts/request-hooks.js';

/** Continues a run that has ended: a follow-up, an answer to its question, or the approval of its plan. */
export function FollowUp({ session, asked }) {
  const { models } = app.value;
  const { state } = session;
  const { status, response } = state;
  if (status !== 'completed') {
    return html`<section class="follow-up"><p class="quiet">A follow-up needs a completed run. <${Link} class="link" to=${{ name: 'ask' }}>Ask again<//></p></section>`;
  }
  const usable = models.filter(({ supported_apis: apis }) => apis.includes('responses'));
  const model = usable.some(({ id }) => id === response.model) ? response.model : usable[0]?.id;
  if (!model) return null;
  const thread = asText(response.metadata?.thread ?? session.id);
  if (isProposal(state)) {
    return html`<section class="follow-up"><h2>The plan</h2><${Approval} session=${session} asked=${asked} model=${model} thread=${thread} /></section>`;
  }
  const isAnswer = isQuestion(state);
  return html`<section class="follow-up"><h2>${isAnswer ? 'The run has a question' : 'Follow up'}</h2>
    <${Composer} compact answers=${isAnswer} models=${usable} model=${model} previous=${session.id} thread=${thread} given=${isAnswer ? givenTo(response, asked) : undefined} onSubmit=${ask} /></section>`;
}

/** The research options of a run's request, with which its continuation starts, too. */
function givenTo({ instructions, reasoning, text, ...response }, asked = {}) {
  const given = {
    ...asked,
    instructions,
    reasoning: reasoning?.effort ? { effort: reasoning.effort } : null,
    text: text?.format?.type === 'json_schema' ? text : null,
    max_tool_calls: response.max_tool_calls,
    max_output_tokens: response.max_output_tokens,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined));
}

function Approval({ session, asked, model, thread }) {
  const { response } = session.state;
  const { plan, metadata } = response;
  const idempotencyKeyFor = useIdempotencyKey();
  const go = (text) => {
    const title = asText(metadata?.title ?? text);
    const request = { model, input: text, previous_response_id: session.id, metadata: { title, thread } };
    return ask({ ...givenTo(response, asked), ...request }, { idempotencyKey: idempotencyKeyFor(text) });
  };
  return html`<${PlanToApprove} plan=${plan} onGo=${go} />`;
}
