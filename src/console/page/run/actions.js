import { app, forget, go } from '../app.js';
import { html, useState } from '../lib/preact.js';
import { Button, ConfirmButton, Menu } from '../parts/controls.js';
import { copy, jsonFile, save } from '../parts/exports.js';

const FORMATS = { md: 'Markdown', html: 'HTML, in one file', docx: 'Word', json: 'JSON, the report' };

/** What can be done with a run, by `attempt`. */
export function Actions({ session, attempt, busy, onReplay }) {
  const [copied, setCopied] = useState(false);
  const { client } = app.value;
  const { id, state } = session;
  const tell = (work) => () => attempt(work);
  const stop = tell(() => client.responses.act(id, 'cancel'));
  const remove = tell(async () => {
    await client.responses.remove(id);
    forget(id);
    go({ name: 'runs' }, { replace: true });
  });
  const report = (format) => tell(async () => save(await client.report(id, format)));
  const copyReport = tell(async () => {
    await copy(await (await client.report(id, 'md')).blob.text());
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  });
  const json = tell(async () => save(jsonFile(await client.responses.get(id))));
  if (!state.ended) {
    return html`<div class="actions"><${Button} kind="stop" icon="stop" disabled=${busy} onClick=${stop}>${busy ? 'Stopping…' : 'Stop'}<//></div>`;
  }
  const written = (state.message?.text ?? '').trim() !== '';
  const files = [
    ...(written
      ? Object.entries(FORMATS).map(([format, label]) => ({ label, icon: 'save', onPick: report(format) }))
      : []),
    { label: 'JSON, the whole run', icon: 'save', onPick: json },
    ...(written ? [{ label: 'Print or PDF', icon: 'print', onPick: () => print() }] : []),
  ];
  return html`<div class="actions">
    ${written && html`<${Button} icon=${copied ? 'check' : 'copy'} onClick=${copyReport}>${copied ? 'Copied' : 'Copy'}<//>`}
    <${Menu} label="Download" icon="save" entries=${files} />
    <${Button} icon="replay" onClick=${onReplay}>Replay<//>
    <${ConfirmButton} icon="trash" kind="plain" aria-label="Delete this run" question="Delete?" onConfirm=${remove} />
  </div>`;
}
