import { asText } from '../format.js';
import { statusOf } from '../run/reasons.js';

/** The two interfaces that list runs, in one form. */
export const KINDS = {
  runs: {
    statuses: ['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'],
    list: (client, query) =>
      client.responses.list(query).then(({ data, has_more }) => ({ data: data.map(fromResponse), has_more })),
    cancel: (client, id) => client.responses.act(id, 'cancel').then(fromResponse),
    remove: (client, id) => client.responses.remove(id),
    view: 'run',
  },
  tasks: {
    statuses: ['CREATED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'],
    list: (client, query) =>
      client.tasks.list(query).then(({ tasks, has_more }) => ({ data: tasks.map(fromTask), has_more })),
    cancel: (client, id) => client.tasks.act(id, 'cancel').then(fromTask),
    remove: (client, id) => client.tasks.remove(id),
    view: 'task',
  },
};

const OPEN = /^(in_progress|created|queued)$/i;

export const isOpen = ({ status }) => OPEN.test(status);

/** The id under which a run's input is read: a task of a research model is a response, too. */
export const runOfEntry = ({ id }) => id.replace(/^task_/, 'resp_');

function fromResponse(response) {
  const { id, model, created_at, started_at, completed_at, metadata, usage, previous_response_id: previous } = response;
  return {
    id,
    ...statusOf(response),
    model,
    // Unknown for open runs and for those that an earlier version stored.
    cost: usage?.cost ?? null,
    tokens: usage?.total_tokens ?? null,
    previous: previous ?? null,
    created: created_at * 1000,
    took: started_at && completed_at ? (completed_at - started_at) * 1000 : null,
    title: asText(metadata?.title ?? metadata?.name),
    tag: asText(metadata?.tag),
    thread: typeof metadata?.thread === 'string' ? metadata.thread : null,
  };
}

function fromTask({ id, status, model, created_at, started_at, completed_at, cancelled_at }) {
  const ended = completed_at ?? cancelled_at;
  const took = started_at && ended ? Date.parse(ended) - Date.parse(started_at) : null;
  return { id, status, model, created: Date.parse(created_at), took, title: '', tag: '', thread: null, previous: null };
}
