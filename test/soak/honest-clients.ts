import { decodeFrames } from '../../src/protocol/frames.ts';
import type { Soak } from './soak.ts';

const TERMINAL = new Set(['response.completed', 'response.failed', 'response.incomplete']);
/** What honest clients are told by a gateway that is overloaded or restarts; they ask again. */
const LATER = new Set([429, 502, 503]);

const questions = [
  'What is a run?',
  'How are runs cancelled?',
  'What does a reader get after a crash?',
  'Which limits are there?',
];
let asked = 0;

/** One honest visit: submits something, reads it as real clients do, and checks what it was promised. */
export async function honestVisit(soak: Soak): Promise<void> {
  const visits = [streamed, resumed, polled, cancelled, chatted, listed];
  await visits[asked++ % visits.length]?.(soak);
}

async function streamed(soak: Soak): Promise<void> {
  const answer = await soak.ask('POST /v1/responses', { body: ask({ stream: true }) });
  if (answer === undefined || LATER.has(answer.status)) return;
  const text = await bodyOf(answer);
  if (text === undefined) return;
  soak.runs++;
  checkLog(soak, text, { from: 1 });
}

/** Leaves in the middle and comes back for the rest, perhaps on another instance. */
async function resumed(soak: Soak): Promise<void> {
  const id = await submitted(soak);
  if (id === undefined) return;
  const first = await soak.ask(`GET /v1/responses/${id}?stream=true`);
  const part = first && (await startOf(first, 5));
  if (part === undefined || part === 0) return;
  for (let tries = 0; tries < 20; tries++) {
    const rest = await soak.ask(`GET /v1/responses/${id}?stream=true&after=${part}`);
    const text = rest?.status === 200 ? await bodyOf(rest) : undefined;
    if (text !== undefined && /event: response\.(?:completed|failed)/.test(text)) {
      checkLog(soak, text, { from: part + 1 });
      return;
    }
    await soak.pause(300);
  }
}

async function polled(soak: Soak): Promise<void> {
  const id = await submitted(soak);
  if (id === undefined) return;
  const stranger = await soak.ask(`GET /v1/responses/${id}`, { key: soak.stranger });
  if (stranger && stranger.status !== 404 && !LATER.has(stranger.status)) {
    soak.violated(`a stranger got ${stranger.status} for another user's run`);
  }
  for (let tries = 0; tries < 200; tries++) {
    const answer = await soak.ask(`GET /v1/responses/${id}`);
    const status =
      answer?.status === 200 ? (JSON.parse((await bodyOf(answer)) ?? '{}') as { status?: string }).status : undefined;
    if (status !== undefined && status !== 'in_progress') {
      if (status !== 'completed') soak.violated(`a run that nobody cancelled ended as ${status}`);
      return;
    }
    await soak.pause(200);
  }
  soak.violated('a run did not end within forty seconds');
}

async function cancelled(soak: Soak): Promise<void> {
  const id = await submitted(soak);
  if (id === undefined) return;
  const answer = await soak.ask(`POST /v1/responses/${id}/cancel`, { body: {} });
  if (answer === undefined || LATER.has(answer.status)) return;
  const { status } = JSON.parse((await bodyOf(answer)) ?? '{}') as { status?: string };
  if (status !== undefined && status !== 'cancelled' && status !== 'completed')
    soak.violated(`a cancel gave ${status}`);
}

async function chatted(soak: Soak): Promise<void> {
  const body = { model: 'demo', messages: [{ role: 'user', content: 'Say something.' }], stream: asked % 2 === 0 };
  const answer = await soak.ask('POST /v1/chat/completions', { body });
  if (answer === undefined || LATER.has(answer.status)) return;
  const text = await bodyOf(answer);
  if (text === undefined) return;
  if (answer.status !== 200) soak.violated(`a chat completion got ${answer.status}`);
  else if (body.stream && !text.includes('data: [DONE]') && !text.includes('"error"')) {
    soak.violated('a chat stream ended without saying so');
  }
}

async function listed(soak: Soak): Promise<void> {
  const answer = await soak.ask('GET /v1/responses?limit=20');
  if (answer && answer.status !== 200 && !LATER.has(answer.status)) soak.violated(`a list got ${answer.status}`);
}

function ask(more: object): object {
  return { model: 'deep', input: questions[asked % questions.length], ...more };
}

async function submitted(soak: Soak): Promise<string | undefined> {
  const answer = await soak.ask('POST /v1/responses', { body: ask({ background: true }) });
  if (answer?.status !== 200) return undefined;
  soak.runs++;
  return (JSON.parse((await bodyOf(answer)) ?? '{}') as { id?: string }).id;
}

/** The whole body; undefined where the connection broke. */
async function bodyOf(answer: Response): Promise<string | undefined> {
  return await answer.text().catch(() => undefined);
}

/** Reads until an event of at least this number, and leaves; gives the last number read. */
async function startOf(answer: Response, least: number): Promise<number> {
  let text = '';
  const reader = answer.body?.getReader();
  try {
    for (;;) {
      const next = await reader?.read();
      if (!next || next.done) break;
      text += Buffer.from(next.value).toString();
      if ([...text.matchAll(/"sequence_number":\d+/g)].length >= least) break;
    }
  } catch {
    return 0;
  } finally {
    await reader?.cancel().catch(() => {});
  }
  const whole = text.slice(0, text.lastIndexOf('\n\n') + 2).replaceAll(/^:[^\n]*\n\n/gm, '');
  return whole === '' ? 0 : (decodeFrames(Buffer.from(whole)).at(-1)?.sequence_number ?? 0);
}

function checkLog(soak: Soak, text: string, { from }: { from: number }): void {
  const events = decodeFrames(
    Buffer.from(text.slice(0, text.lastIndexOf('\n\n') + 2).replaceAll(/^:[^\n]*\n\n/gm, '')),
  );
  const gap = events.findIndex((event, index) => event.sequence_number !== from + index);
  if (gap !== -1) soak.violated(`event ${from + gap} is missing or comes twice`);
  const ends = events.filter(({ type }) => TERMINAL.has(type));
  if (ends.length > 1 || (ends.length === 1 && events.at(-1) !== ends[0])) soak.violated('an event after the last one');
}
