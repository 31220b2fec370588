import { forget } from '../app.js';
import { compact, elapsed, exactly, line, money, whenOn } from '../format.js';
import { html } from '../lib/preact.js';
import { Button, ConfirmButton, Failure, Status } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { useAttempt } from '../parts/request-hooks.js';
import { useQuestion } from '../run/questions.js';
import { isOpen, KINDS, runOfEntry } from './kinds.js';

/**
 * One run or task. `day`: a moment of the day that it is listed under; `onChoose`: selects it to compare; `onAct` runs work that
 * resolves to the updated entry, or to nothing if the entry is gone.
 */
export function Entry({ entry, day, kind, client, chosen, onChoose, onAct }) {
  const { id, status, reason, model, created, took, title, tag } = entry;
  const { attempt, error } = useAttempt();
  const { view, cancel, remove } = KINDS[kind];
  const act = (work) => attempt(() => onAct(id, work));
  const removeEntry = async () => {
    await remove(client, id);
    forget(id);
  };
  return html`<div class="entry-line">
    ${onChoose && html`<input type="checkbox" aria-label="Select to compare" checked=${chosen} onChange=${onChoose} />`}
    <${Link} class="entry-open" to=${{ name: view, id }}>
      <span><span class="entry-question" dir="auto">${title !== '' ? line(title, 200) : html`<${Question} client=${client} id=${runOfEntry(entry)} />`}</span>${tag !== '' && html`<span class="mark" dir="auto">${line(tag, 40)}</span>`}</span>
      <span class="entry-about-line">
        <${Status} status=${status} reason=${reason} />
        <span class="entry-model" dir="auto">${model}</span>
        <span class="entry-number">${took !== null && html`<span class="sr">took </span>${took === 0 ? '< 1 s' : elapsed(took)}`}</span>
        <span class="entry-number"><${Spent} of=${entry} /></span>
        <time title=${exactly(created)}>${whenOn(created, day)}</time>
      </span>
    <//>
    ${
      isOpen(entry)
        ? html`<${Button} kind="bare" icon="stop" aria-label="Stop" title="Stop" onClick=${() => act(() => cancel(client, id))} />`
        : html`<${ConfirmButton} kind="bare" icon="trash" aria-label="Delete" title="Delete" question="Delete?" onConfirm=${() => act(removeEntry)} />`
    }
    <${Failure} error=${error} />
  </div>`;
}

/** Its cost, or if that is unknown, its tokens. */
function Spent({ of: { cost, tokens } }) {
  if (cost) return html`<span class="sr">cost </span>${money(cost)}`;
  return tokens > 0 && html`${compact(tokens)} tokens`;
}

/** The question of a run without a title. */
function Question({ client, id }) {
  const question = useQuestion(client, id);
  return question === undefined ? '…' : line(question.text, 200) || id;
}
