import { useEffect, useState } from '../lib/preact.js';
import { useLooking } from '../parts/asking.js';

/** Questions that are read at the same time for a search. */
const AT_ONCE = 4;
/** When a question is read again that could not be read, in milliseconds. */
const RETRY_MS = 5000;

/** Questions that are kept. */
const MOST = 2000;

/** What was asked: the last user message of a run's input. `undefined` while it is read. */
export function useQuestion(client, id) {
  const [question, setQuestion] = useState(client.questions.get(id));
  useLooking(
    async (isWanted) => {
      const found = await read(client, id);
      if (isWanted()) setQuestion(found);
      return found ? undefined : RETRY_MS;
    },
    [id],
  );
  return question;
}

/** What is known of the questions of these runs, as texts by id; those that are not yet known are read meanwhile. */
export function useQuestions(client, ids) {
  const [, draw] = useState(0);
  useEffect(() => {
    let left = false;
    const unknown = ids.filter((id) => !client.questions.has(id));
    const readOn = async () => {
      while (!left && unknown.length > 0) {
        await read(client, unknown.shift());
        if (!left) draw((n) => n + 1);
      }
    };
    for (let n = 0; n < AT_ONCE; n += 1) void readOn();
    return () => {
      left = true;
    };
  }, [ids.join()]);
  return new Map(ids.map((id) => [id, client.questions.get(id)?.text ?? '']));
}

async function read(client, id) {
  const { questions } = client;
  if (questions.has(id)) return questions.get(id);
  try {
    const { data } = await client.responses.part(id, 'input_items', { limit: 100 });
    questions.set(id, questionIn(data));
    if (questions.size > MOST) questions.delete(questions.keys().next().value);
    return questions.get(id);
  } catch ({ status }) {
    // What cannot be reached comes back; what is refused stays so.
    return status >= 400 && status < 500 ? { text: '', files: 0 } : undefined;
  }
}

/** The question and how many attachments stood before it. */
function questionIn(items) {
  const asked = items.findLast(({ role }) => role === 'user');
  const content = asked?.content;
  if (typeof content === 'string') return { text: content, files: 0 };
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  return { text: texts.at(-1) ?? '', files: Math.max(0, parts.length - 1) };
}
