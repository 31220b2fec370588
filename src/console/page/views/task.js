import { app, go } from '../app.js';
import { exactly } from '../format.js';
import { html, useRef, useState } from '../lib/preact.js';
import { isOpen, runOfEntry } from '../list/kinds.js';
import { Failure, Status } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { usePolling } from '../parts/request-hooks.js';
import { useTitle } from '../parts/title.js';
import { ReportView } from '../report/report-view.js';
import { LongText } from '../run/call-details.js';

const REFRESH_MS = 2000;

/** A task of a proxy model with its result. A task of a research model leads to its run. */
export function Task({ id }) {
  const { client } = app.value;
  useTitle('Task');
  const [task, setTask] = useState(null);
  const [error, setError] = useState(null);
  const run = runOfEntry({ id });
  /** Whether the task is known not to be a research run, which either interface can read. */
  const isTask = useRef(false);
  usePolling(async (isMounted) => {
    try {
      isTask.current ||= await client.responses.get(run).then(
        () => false,
        () => true,
      );
      if (!isTask.current) {
        if (isMounted()) go({ name: 'run', id: run }, { replace: true });
        return undefined;
      }
      const found = await client.tasks.get(id);
      setTask(found);
      setError(null);
      return isOpen(found) ? REFRESH_MS : undefined;
    } catch (thrown) {
      setError(thrown);
      // A refusal is final; an unreachable gateway comes back.
      return thrown.status >= 400 && thrown.status < 500 ? undefined : REFRESH_MS;
    }
  }, []);
  const answer = task?.result?.choices?.[0]?.message?.content;
  return html`<article class="run">
    <header class="run-head">
      <div class="run-title"><h1 tabindex="-1">Task</h1>
        ${task && html`<p class="run-about"><${Status} status=${task.status} /><span>${task.model}</span><span>${exactly(Date.parse(task.created_at))}</span></p>`}
      </div>
      <div class="actions"><${Link} class="button" to=${{ name: 'runs', kind: 'tasks' }}>All tasks<//></div>
    </header>
    <${Failure} error=${error ?? task?.error} />
    ${typeof answer === 'string' && html`<div class="report"><${ReportView} text=${answer} annotations=${[]} writing=${false} onCite=${() => {}} /></div>`}
    ${task?.result && html`<${LongText} text=${JSON.stringify(task.result, null, 2)} label="Result" />`}
  </article>`;
}
