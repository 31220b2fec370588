import { useEffect, useState } from '../lib/preact.js';
import { usePolling } from '../parts/request-hooks.js';

/** How many questions a search reads at the same time. */
const PARALLEL = 4;
/** When an unreadable question is tried again, in milliseconds. */
const RETRY_MS = 5000;

const MAX_CACHED = 2000;

/** The question of a run: the last user message of its input. `undefined` until it is read. */
export function useQuestion(client, id) {
  const [question, setQuestion] = useState(client.questions.get(id));
  usePolling(
    async (isMounted) => {
      const found = await read(client, id);
      if (isMounted()) setQuestion(found);
      return found ? undefined : RETRY_MS;
    },
    [id],
  );
  return question;
}

/** The known questions of these runs, as texts by id. Unknown ones are read in the background. */
export function useQuestions(client, ids) {
  const [, draw] = useState(0);
  useEffect(() => {
    let isMounted = true;
    const unknown = ids.filter((id) => !client.questions.has(id));
    const readOn = async () => {
      while (isMounted && unknown.length > 0) {
        await read(client, unknown.shift());
        if (isMounted) draw((n) => n + 1);
      }
    };
    for (let n = 0; n < PARALLEL; n += 1) void readOn();
    return () => {
      isMounted = false;
    };
  }, [ids.join()]);
  return new Map(ids.map((id) => [id, client.questions.get(id)?.text ?? '']));
}

async function read(client, id) {
  const { questions } = client;
  if (questions.has(id)) return questions.get(id);
  try {
    const { data } = await client.responses.part(id, 'input_items', { limit: 100, order: 'desc' });
    questions.set(id, questionIn(data));
    if (questions.size > MAX_CACHED) questions.delete(questions.keys().next().value);
    return questions.get(id);
  } catch ({ status }) {
    // A refusal is final; an unreachable or busy gateway comes back.
    return status >= 400 && status < 500 && status !== 429 ? { text: '', files: 0 } : undefined;
  }
}

/** The question in the input, which is read from its end, and how many attachments precede it. */
function questionIn(items) {
  const question = items.find(({ role }) => role === 'user');
  const content = question?.content;
  if (typeof content === 'string') return { text: content, files: 0 };
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  return { text: texts.at(-1) ?? '', files: Math.max(0, parts.length - 1) };
}
