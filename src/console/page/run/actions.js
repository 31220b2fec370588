import { app, forget, goAfter } from '../app.js';
import { html, useState } from '../lib/preact.js';
import { Button, ConfirmButton, Menu } from '../parts/controls.js';
import { copy, jsonFile, save } from '../parts/exports.js';

const FORMATS = { md: 'Markdown', html: 'HTML (one file)', docx: 'Word', json: 'JSON (report)' };

/** The buttons of a run. `attempt` runs their requests. */
export function Actions({ session, attempt, busy, onReplay }) {
  const [copied, setCopied] = useState(false);
  const { client } = app.value;
  const { id, state } = session;
  const handler = (work) => () => attempt(work);
  const stop = handler(() => client.responses.act(id, 'cancel'));
  const removed = async () => {
    await client.responses.remove(id);
    forget(id);
    return { name: 'runs' };
  };
  const remove = handler(() => goAfter(removed(), { replace: true }));
  const report = (format) => handler(async () => save(await client.report(id, format)));
  const copyReport = handler(async () => {
    await copy(await (await client.report(id, 'md')).blob.text());
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  });
  const json = handler(async () => save(jsonFile(await client.responses.get(id))));
  if (!state.ended) {
    return html`<div class="actions"><${Button} kind="stop" icon="stop" disabled=${busy} onClick=${stop}>${busy ? 'Stopping…' : 'Stop'}<//></div>`;
  }
  const hasText = (state.message?.text ?? '').trim() !== '';
  const files = [
    ...(hasText
      ? Object.entries(FORMATS).map(([format, label]) => ({ label, icon: 'save', onPick: report(format) }))
      : []),
    { label: 'JSON (whole run)', icon: 'save', onPick: json },
    ...(hasText ? [{ label: 'Print or PDF', icon: 'print', onPick: () => print() }] : []),
  ];
  return html`<div class="actions">
    ${hasText && html`<${Button} icon=${copied ? 'check' : 'copy'} onClick=${copyReport}>${copied ? 'Copied' : 'Copy'}<//>`}
    <${Menu} label="Download" icon="save" entries=${files} />
    <${Button} icon="replay" onClick=${onReplay}>Replay<//>
    <${ConfirmButton} icon="trash" kind="plain" aria-label="Delete this run" question="Delete?" onConfirm=${remove} />
  </div>`;
}
