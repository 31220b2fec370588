import { html, useRef, useState } from '../lib/preact.js';
import { Button, Failure } from './controls.js';
import { useAttempt } from './request-hooks.js';

/** Whether a run ended with a proposed plan, which waits for the user's approval. */
export function isProposal({ response, sources, message }) {
  const items = response?.plan?.items ?? [];
  const isOpen = items.length > 0 && items.every(({ status }) => status === 'open');
  return isOpen && sources.size === 0 && (message?.text ?? '').startsWith(`1. ${items[0].text.slice(0, 20)}`);
}

/** Whether a run asked its user something instead of researching. No field of the API says so. */
export function isQuestion({ response, sources, calls, message }) {
  const text = (message?.text ?? '').trim();
  const short = text.length < 1000 && !response?.plan;
  return short && sources.size === 0 && calls === 0 && /[?？؟]\W{0,3}$/u.test(text);
}

/** A plan that the user may change before the research follows it. `onGo` gets the message to the run. */
export function PlanToApprove({ plan, onGo }) {
  const proposed = plan.items.map(({ text }) => text);
  const [items, setItems] = useState(() => proposed.map((text, key) => ({ key, text })));
  const { attempt, busy, error } = useAttempt();
  const next = useRef(proposed.length);
  const list = useRef(null);
  const change = (key, text) => setItems(items.map((item) => (item.key === key ? { key, text } : item)));
  const wanted = items.map(({ text }) => text.trim()).filter(Boolean);
  const go = (event) => {
    event.preventDefault();
    void attempt(() => onGo(messageOf(wanted, proposed)));
  };
  const add = () => {
    setItems([...items, { key: next.current++, text: '' }]);
    requestAnimationFrame(() => list.current?.querySelector('li:last-child input')?.focus());
  };
  return html`<form class="plan" aria-label="Plan" onSubmit=${go}>
    <p class="quiet">Nothing has been researched yet. Change the plan if you like, then start the research.</p>
    <ol ref=${list}>${items.map(
      ({ key, text }, at) => html`<li key=${key}>
        <input dir="auto" aria-label=${`Part ${at + 1}`} value=${text} maxlength="400" onInput=${(event) => change(key, event.currentTarget.value)} />
        <${Button} kind="bare" icon="cross" aria-label=${`Remove part ${at + 1}`} onClick=${() => setItems(items.filter((item) => item.key !== key))} />
      </li>`,
    )}</ol>
    <${Failure} error=${error} />
    <div class="actions">
      <button type="submit" class="button primary" disabled=${busy || wanted.length === 0}><span>${busy ? 'Sending…' : 'Start the research'}</span></button>
      <${Button} icon="ask" onClick=${add}>Add a part<//>
    </div>
  </form>`;
}

function messageOf(wanted, proposed) {
  if (wanted.join('\n') === proposed.join('\n')) return 'Follow this plan.';
  return `Follow this plan instead:\n\n${wanted.map((text, at) => `${at + 1}. ${text}`).join('\n')}`;
}
