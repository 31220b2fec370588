import { app, ask } from '../app.js';
import { html, useRef } from '../lib/preact.js';
import { Composer } from '../parts/composer.js';
import { Link } from '../parts/link.js';
import { asksBack, isProposal, PlanToApprove } from '../parts/plan.js';

/** What can be said to a run that has ended: a follow-up, an answer to what it asked, a word on its plan. */
export function FollowUp({ session }) {
  const { models } = app.value;
  const { state } = session;
  const { status, response } = state;
  if (status !== 'completed') {
    return html`<section class="follow-up"><p class="quiet">A follow-up needs a completed run. <${Link} class="link" to=${{ name: 'ask' }}>Ask again<//></p></section>`;
  }
  const usable = models.filter(({ supported_apis: apis }) => apis.includes('responses'));
  const model = usable.some(({ id }) => id === response.model) ? response.model : usable[0]?.id;
  if (!model) return null;
  const thread = String(response.metadata?.thread ?? session.id);
  if (isProposal(state)) {
    return html`<section class="follow-up"><h2>The plan</h2><${Approval} session=${session} model=${model} thread=${thread} /></section>`;
  }
  const answers = asksBack(state);
  return html`<section class="follow-up"><h2>${answers ? 'The run asks back' : 'Follow up'}</h2>
    <${Composer} compact answers=${answers} models=${usable} model=${model} previous=${session.id} thread=${thread} onSubmit=${ask} /></section>`;
}

function Approval({ session, model, thread }) {
  const { plan, metadata } = session.state.response;
  /** The same words have the same key: pressing again after a lost answer does not ask twice. */
  const once = useRef(new Map());
  const go = (text) => {
    const key = once.current.get(text) ?? `${Date.now()}-${Math.random()}`;
    once.current.set(text, key);
    const title = String(metadata?.title ?? text);
    const body = { model, input: text, previous_response_id: session.id, metadata: { title, thread } };
    return ask(body, { once: key });
  };
  return html`<${PlanToApprove} plan=${plan} onGo=${go} />`;
}
