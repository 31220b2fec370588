import { app } from '../app.js';
import { number } from '../format.js';
import { html, useEffect, useRef } from '../lib/preact.js';
import { useAnswer } from '../parts/asking.js';
import { Button, Failure } from '../parts/controls.js';

/** What the model was asked with in a turn: for operators, message by message. */
export function TurnPrompt({ id, turn, name, onClose }) {
  const path = `admin/responses/${encodeURIComponent(id)}/turns/${turn}`;
  const { found, error } = useAnswer(() => app.value.client.read(path), []);
  const panel = useRef(null);
  // Whoever asked from far down in the list sees it.
  useEffect(() => panel.current.scrollIntoView({ block: 'nearest' }), [found]);
  return html`<section class="turn-prompt" ref=${panel} aria-label=${`Prompt of ${name}`}>
    <div class="turn-prompt-head"><h3>Prompt of ${name}</h3><${Button} kind="bare" icon="cross" aria-label="Close the prompt" onClick=${onClose} /></div>
    <${Failure} error=${error} />
    ${found && html`<${Messages} of=${found} />`}
  </section>`;
}

function Messages({ of: { messages, tools, estimated_tokens: size } }) {
  const isHidden = messages.every(({ text }) => text === null);
  return html`
    <p class="quiet" role="status">${number(messages.length)} messages, some ${number(size)} tokens. Tools: ${tools.join(', ') || 'none'}.</p>
    ${isHidden && html`<p class="quiet">Texts are shown where the configuration says <code>telemetry.contents: true</code>.</p>`}
    <ol class="prompt-messages">${messages.map((message, at) => html`<${Message} key=${at} of=${message} />`)}</ol>
  `;
}

function Message({ of: { role, text, calls = [], estimated_tokens: size } }) {
  const about = html`<span class="mark">${role}</span> <span class="quiet">${number(size)} tokens</span> ${calls.map((call, at) => html`<code key=${at} dir="auto">${call.name}</code> `)}`;
  const said = [text, ...calls.map((call) => call.arguments)].filter(Boolean);
  if (said.length === 0) return html`<li>${about}</li>`;
  return html`<li><details><summary>${about}</summary>${said.map((part, at) => html`<pre key=${at} dir="auto" tabindex="0">${part}</pre>`)}</details></li>`;
}
