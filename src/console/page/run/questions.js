import { useEffect, useState } from '../lib/preact.js';

/** Questions that are read at the same time for a search. */
const AT_ONCE = 4;

const questions = new Map();

/** What was asked: the last user message of a run's input. `undefined` while it is read. */
export function useQuestion(client, id) {
  const [question, setQuestion] = useState(questions.get(id));
  useEffect(() => {
    let left = false;
    void read(client, id).then((found) => !left && setQuestion(found));
    return () => {
      left = true;
    };
  }, [id]);
  return question;
}

/** What is known of the questions of these runs, as texts by id; those that are not yet known are read meanwhile. */
export function useQuestions(client, ids) {
  const [, draw] = useState(0);
  useEffect(() => {
    let left = false;
    const unknown = ids.filter((id) => !questions.has(id));
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
  return new Map(ids.map((id) => [id, questions.get(id)?.text ?? '']));
}

async function read(client, id) {
  if (questions.has(id)) return questions.get(id);
  try {
    const { data } = await client.input(id);
    questions.set(id, questionIn(data));
    return questions.get(id);
  } catch {
    return { text: '', files: 0 };
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
