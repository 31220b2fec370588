import type { ServerResponse } from 'node:http';
import type { LongAnswers } from '../limits/long-answers.ts';
import { heartbeat } from './heartbeat.ts';
import { endWithText, JSON_HEADERS, writeJson } from './json.ts';

/** A JSON answer that takes minutes. */
export interface WaitingAnswer {
  kind: 'waiting';
  headers: Record<string, string>;
  /** The JSON text. `started`: status 200 was sent while waiting, so a failure has to be reported in the text. */
  text(state: { readonly started: boolean }): Promise<string>;
}

/**
 * Waits for an answer. After each heartbeat interval it sends white space, which JSON allows before a value, and with the
 * first one the headers, so that proxies do not close the idle connection (docs/api.md, "In general").
 * @throws whatever `answer.text` throws, unless the client has disconnected.
 */
export async function writeWhenReady(
  res: ServerResponse,
  answer: WaitingAnswer,
  { heartbeatMs, longAnswers }: { heartbeatMs: number; longAnswers: LongAnswers },
): Promise<void> {
  const state = { started: false };
  using silence = heartbeat(heartbeatMs, () => {
    if (res.destroyed || res.writableNeedDrain) return;
    if (!state.started) res.writeHead(200, { ...JSON_HEADERS, ...answer.headers });
    state.started = true;
    res.write('\n');
  });
  try {
    const text = await answer.text(state);
    if (res.destroyed) return;
    // White space in the middle of the text would corrupt it.
    silence[Symbol.dispose]();
    if (state.started) await endWithText(res, text, longAnswers);
    else await writeJson(res, { status: 200, headers: answer.headers, body: text }, longAnswers);
  } catch (thrown) {
    if (!res.destroyed) throw thrown;
  }
}
