import { app, signIn } from '../app.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Failure } from '../parts/controls.js';
import { useAttempt } from '../parts/request-hooks.js';
import { useTitle } from '../parts/title.js';

/** The key is kept in memory, or in this tab's session storage if the user wants that. */
export function SignIn() {
  useTitle('');
  const { wellKnownKey, refusal } = app.value;
  const { attempt, busy, error } = useAttempt(refusal);
  const [key, setKey] = useState(wellKnownKey);
  const [keep, setKeep] = useState(true);
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    await attempt(() => signIn(key.trim(), { keep }));
    field.current?.focus();
  };
  return html`<form class="sign-in" onSubmit=${submit}>
    <h1 tabindex="-1">research-gateway</h1>
    <p class="lead">Ask a question, watch the research, read a report with its sources.</p>
    <label class="field"
      >API key
      <input
        ref=${field}
        type="password"
        autocomplete="off"
        spellcheck="false"
        required
        value=${key}
        onInput=${(event) => setKey(event.currentTarget.value)}
      />
    </label>
    ${wellKnownKey !== '' && html`<p class="hint">This gateway runs with its default configuration, so its key is filled in.</p>`}
    <label class="check"><input type="checkbox" checked=${keep} onChange=${(event) => setKeep(event.currentTarget.checked)} /> Remember it until this tab is closed</label>
    <p class="hint">Otherwise reloading the page forgets it. The key is sent to this gateway only, in a header.</p>
    <${Failure} error=${error} />
    <button type="submit" class="button primary" disabled=${busy || key.trim() === ''}><span>${busy ? 'Signing in…' : 'Sign in'}</span></button>
  </form>`;
}
