import { app, ask } from '../app.js';
import { html, useState } from '../lib/preact.js';
import { Composer } from '../parts/composer.js';
import { useTitle } from '../parts/title.js';
import { useStore } from '../store.js';

/** Questions about the project's own documents, which the built-in demo model searches. */
const DEMO_EXAMPLES = [
  'How does a client resume a dropped stream, and why is nothing delivered twice?',
  'What happens to a run when the instance that drives it is killed?',
  'When does a request fail over to another route, and when does it not?',
];
const EXAMPLES = [
  'What is known about how long heat pumps last, and what shortens it?',
  'Compare how Denmark, Germany and China pay for new offshore wind farms.',
  'Which open-source licences allow a hosted service to keep its changes private?',
];

export function Ask() {
  useTitle('Ask');
  const models = useStore(app, (value) => value.models);
  const wellKnown = useStore(app, (value) => value.wellKnownKey);
  const [draft, setDraft] = useState({ text: '', version: 0 });
  const usable = models.filter(({ supported_apis: apis }) => apis.includes('responses'));
  if (usable.length === 0) {
    return html`<section class="ask"><h1 tabindex="-1">No model to ask</h1>
      <p class="lead">None of this key’s models serves /v1/responses. Add a model of kind <code>research</code> to the configuration.</p>
    </section>`;
  }
  const examples = wellKnown === '' ? EXAMPLES : DEMO_EXAMPLES;
  return html`<section class="ask">
    <h1 tabindex="-1">What do you want to know?</h1>
    <${Composer} key=${draft.version} models=${usable} initial=${draft.text} onSubmit=${ask} focus />
    <div class="examples">
      <h2>For example</h2>
      <ul>
        ${examples.map(
          (example) => html`<li key=${example}>
            <button type="button" onClick=${() => setDraft({ text: example, version: draft.version + 1 })}>${example}</button>
          </li>`,
        )}
      </ul>
      ${wellKnown !== '' && html`<p class="hint">The default configuration answers with a small built-in program that quotes the project's documents. Configure your own provider for real research.</p>`}
    </div>
  </section>`;
}
