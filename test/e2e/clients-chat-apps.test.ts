import assert from 'node:assert/strict';
import { z } from 'zod';
import { CHAT_APPS, type ChatApp, type Shown } from '../support/chat-apps.ts';
import { clientGateway, KEY, MODEL, QUESTION } from '../support/client-gateway.ts';
import { patience } from '../support/time-limit.ts';

/**
 * What chat apps show of a research run, each by its own rules. The apps themselves cannot run here; docs/apps has what
 * their sources say, and the same table.
 */
describe('chat apps', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  const gateway = clientGateway();
  const user = (content: string) => ({ role: 'user', content });

  const post = (app: ChatApp, body: object, signal?: AbortSignal) =>
    fetch(`${gateway.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { ...app.headers.chat, 'content-type': 'application/json', authorization: `Bearer ${KEY.main}` },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });

  async function ask(app: ChatApp, { model = MODEL.research as string, messages = [user(QUESTION)] as object[] } = {}) {
    return await app.read(await post(app, app.body({ model, messages })));
  }

  for (const app of CHAT_APPS) {
    describe(app.name, () => {
      let shown: Shown;
      before(async () => {
        shown = await ask(app);
      });

      it('1. lists the models that the key may use', async () => {
        const headers = { ...app.headers.models, authorization: `Bearer ${KEY.main}` };
        const list = await (await fetch(`${gateway.baseURL}/models`, { headers })).json();
        assert.deepEqual(new Set(app.models(list)), new Set(Object.values(MODEL)));
      });

      it('2. accepts the parameters that the app sends, and answers', () => {
        assert.equal(shown.error, undefined);
        assert.match(shown.text, /tidal turbine/);
      });

      it('3. shows the whole answer, and nothing else as the answer', async () => {
        const body = { model: MODEL.research, messages: [user(QUESTION)] };
        assert.equal(shown.text, contentOf(await (await post(app, body)).json()));
      });

      it('4. shows thoughts', () => {
        assert.match(shown.thoughts, /\w{4,}/);
        assert.ok(!shown.text.includes(shown.thoughts.slice(0, 40)));
      });

      it('5. shows each search and each read', () => {
        assert.match(shown.thoughts, /^Searching: /m);
        assert.match(shown.thoughts, /^Reading: /m);
      });

      it('6. puts thoughts, searches and reads on lines of their own', () => {
        assert.doesNotMatch(shown.thoughts, /\S(Searching|Reading): /);
      });

      if (app.showsSources) {
        it('7. opens the right source for each number', () => {
          const numbers = [...shown.text.matchAll(/\[(\d+(?:, \d+)*)\]/g)].flatMap(([, list = '']) => list.split(', '));
          assert.ok(numbers.length > 0);
          for (const number of numbers)
            assert.match(shown.sources[Number(number) - 1] ?? '', /^corpus:/, `[${number}]`);
        });
      }

      if (app.showsSources) {
        it('8. lists each source once', () => {
          assert.equal(new Set(shown.sources).size, shown.sources.length);
          assert.ok(shown.sources.length > 0);
        });
      }

      if (app.showsUsage) {
        it('9. shows the token usage', () => {
          assert.ok(shown.tokens > 0);
        });
      }

      it('10. continues a conversation, whatever the app kept of it', async () => {
        const answered = { role: 'assistant', content: shown.text };
        const thought = { ...answered, reasoning_content: shown.thoughts, name: 'deep' };
        const calls = [{ id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } }];
        for (const before of [
          [answered],
          [thought],
          [
            { role: 'assistant', content: null, tool_calls: calls },
            { role: 'tool', tool_call_id: 'call_1', content: '12:00' },
            answered,
          ],
          [{ role: 'assistant', content: '' }],
          [{ role: 'assistant', content: [{ type: 'text', text: shown.text }] }],
        ]) {
          const messages = [
            { role: 'system', content: 'Be brief.' },
            user(QUESTION),
            ...before,
            { role: 'user', content: [{ type: 'text', text: 'And the lamp of the lighthouse?' }] },
          ];
          const { text, error } = await ask(app, { messages });
          assert.equal(error, undefined, JSON.stringify(before));
          assert.match(text, /lamp/i);
        }
      });

      it('11. says why a question was refused or failed before its answer', async () => {
        const { error } = await ask(app, { model: MODEL.broken });
        assert.match(error ?? '', /out of order/);
        assert.match((await ask(app, { model: 'no-such-model' })).error ?? '', /no-such-model/);
      });

      it('12. keeps the text of an answer that breaks off, and says why', async () => {
        const cut = await ask(app, { model: MODEL.cut });
        assert.equal(cut.text, 'The first half of the answer');
        if (app.showsFailures) assert.notEqual(cut.error ?? '', '');
      });

      it('13. stops the research with its stop button', async () => {
        const stop = new AbortController();
        const body = app.body({ model: MODEL.slow, messages: [user(QUESTION)] });
        const asking = post(app, body, stop.signal).then((answer) => answer.text());
        const stopped = assert.rejects(asking, { name: 'AbortError' });
        await gateway.provider.waitForActive(1);
        stop.abort();
        await stopped;
        await gateway.provider.waitForActive(0);
      });

      it('14. gets titles and tags from another model, without research', async () => {
        const body = { model: MODEL.proxy, messages: [user('Title this chat.')], max_completion_tokens: 1000 };
        const title = contentOf(await (await post(app, { ...body, stream: false })).json());
        assert.notEqual(title, '');
        const streamed = await app.read(await post(app, { ...body, stream: true }));
        assert.deepEqual([streamed.text, streamed.thoughts], [title, '']);
      });
    });
  }
});

const completion = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })) });

function contentOf(answer: unknown): string {
  return completion.parse(answer).choices[0]?.message.content ?? '';
}
