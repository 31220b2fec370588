import { runOf } from '../app.js';
import { useEffect, useLayoutEffect, useMemo, useState } from '../lib/preact.js';

/** A run as the page follows it; the view is drawn again as it goes on. */
export function useRun(id) {
  const [, draw] = useState(0);
  const session = useMemo(() => runOf(id), [id]);
  useLayoutEffect(() => {
    const stop = session.listen(() => draw((n) => n + 1));
    // What came between drawing and listening.
    draw((n) => n + 1);
    return stop;
  }, [session]);
  return session;
}

const questions = new Map();

/** What was asked: the last user message of a run's input. `undefined` while it is read. */
export function useQuestion(client, id) {
  const [question, setQuestion] = useState(questions.get(id));
  useEffect(() => {
    if (questions.has(id)) return setQuestion(questions.get(id));
    let left = false;
    client.input(id).then(
      ({ data }) => {
        questions.set(id, questionIn(data));
        if (!left) setQuestion(questions.get(id));
      },
      () => !left && setQuestion({ text: '', files: 0 }),
    );
    return () => {
      left = true;
    };
  }, [id]);
  return question;
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
