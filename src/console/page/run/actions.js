import { app, forget, go } from '../app.js';
import { html, useState } from '../lib/preact.js';
import { Button, ConfirmButton, Menu } from '../parts/controls.js';
import { copy, jsonFile, save } from '../parts/exports.js';

/** What can be done with a run. `onProblem`: gets what was refused. */
export function Actions({ session, onProblem, onReplay }) {
  const [copied, setCopied] = useState(false);
  const [stopping, setStopping] = useState(false);
  const { client } = app.value;
  const { id, state } = session;
  const tell = (work) => async () => {
    onProblem(null);
    try {
      await work();
    } catch (error) {
      onProblem(error);
    }
  };
  const stop = tell(async () => {
    setStopping(true);
    try {
      await client.cancel(id);
    } finally {
      setStopping(false);
    }
  });
  const remove = tell(async () => {
    await client.remove(id);
    forget(id);
    go({ name: 'runs' }, { replace: true });
  });
  const report = (format) =>
    tell(async () => {
      const { name, blob } = await client.report(id, format);
      save(name, blob);
    });
  const copyReport = tell(async () => {
    await copy(await (await client.report(id, 'md')).blob.text());
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  });
  const json = tell(async () => {
    const { name, blob } = jsonFile(await client.response(id));
    save(name, blob);
  });
  if (!state.ended) {
    return html`<div class="actions"><${Button} kind="stop" icon="stop" disabled=${stopping} onClick=${stop}>${stopping ? 'Stopping…' : 'Stop'}<//></div>`;
  }
  const written = (state.message?.text ?? '').trim() !== '';
  const files = [
    ...(written
      ? [
          { label: 'Markdown', icon: 'save', onPick: report('md') },
          { label: 'HTML, in one file', icon: 'save', onPick: report('html') },
          { label: 'Word', icon: 'save', onPick: report('docx') },
          { label: 'JSON, the report', icon: 'save', onPick: report('json') },
        ]
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
