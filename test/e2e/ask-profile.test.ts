import assert from 'node:assert/strict';
import { RunView } from '../../src/cli/ask/run-view.ts';
import { decodeFrames } from '../../src/protocol/frames.ts';
import { clientGateway, KEY, MODEL, QUESTION } from '../support/client-gateway.ts';
import { patience } from '../support/time-limit.ts';

describe('the progress that research-gateway ask shows', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  const gateway = clientGateway();

  async function shownOf(key: string) {
    const answer = await fetch(`${gateway.baseURL}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL.research, input: QUESTION, stream: true }),
    });
    const view = new RunView();
    const phases = new Set<string>();
    const lines = decodeFrames(Buffer.from(await answer.text())).flatMap((event) => {
      const line = view.update(event);
      phases.add(view.phase);
      return line === undefined ? [] : [line];
    });
    const steps = lines.filter((line) => /^(web_search|fetch_url_content): /.test(line));
    return { steps, phases, toolCalls: view.toolCalls, sources: view.sources };
  }

  it('is the same with items of the OpenAI profile as with the gateway’s own', async () => {
    const own = await shownOf(KEY.main);
    const openai = await shownOf(KEY.openai);
    // What a page says is in no item of OpenAI's: only that it was opened.
    const plain = (steps: string[]) => steps.map((step) => step.replace(/: read “.*$/, ': done')).sort();
    assert.deepEqual(plain(openai.steps), plain(own.steps));
    assert.ok(own.steps.some((step) => /^web_search: “/.test(step)));
    assert.deepEqual(
      [openai.toolCalls, openai.sources, [...openai.phases]],
      [own.toolCalls, own.sources, [...own.phases]],
    );
    assert.ok(own.sources > 0);
  });
});
