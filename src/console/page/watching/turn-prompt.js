import { app } from '../app.js';
import { number } from '../format.js';
import { html, useEffect, useRef } from '../lib/preact.js';
import { Button, Failure } from '../parts/controls.js';
import { useRequest } from '../parts/request-hooks.js';

/** The prompt of a turn, message by message, for operators. */
export function TurnPrompt({ id, turn, name, onClose }) {
  const path = `admin/responses/${encodeURIComponent(id)}/turns/${turn}`;
  const { found, error } = useRequest(() => app.value.client.read(path), []);
  const panel = useRef(null);
  // The button may be far down in the list.
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
    <p class="quiet" role="status">${number(messages.length)} messages, about ${number(size)} tokens. Tools: ${tools.join(', ') || 'none'}.</p>
    ${isHidden && html`<p class="quiet">Texts are shown only if the configuration has <code>telemetry.contents: true</code>.</p>`}
    <ol class="prompt-messages">${messages.map((message, at) => html`<${Message} key=${at} of=${message} />`)}</ol>
  `;
}

function Message({ of: { role, text, calls = [], estimated_tokens: size } }) {
  const about = html`<span class="mark">${role}</span> <span class="quiet">${number(size)} tokens</span> ${calls.map((call, at) => html`<code key=${at} dir="auto">${call.name}</code> `)}`;
  const texts = [text, ...calls.map((call) => call.arguments)].filter(Boolean);
  if (texts.length === 0) return html`<li>${about}</li>`;
  return html`<li><details><summary>${about}</summary>${texts.map((part, at) => html`<pre key=${at} dir="auto" tabindex="0">${part}</pre>`)}</details></li>`;
}
