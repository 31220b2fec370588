import assert from 'node:assert/strict';
import type { LangChainClient } from '../clients/contract.ts';
import { clientGateway, KEY, MODEL, QUESTION } from '../support/client-gateway.ts';
import { INSTALL_TIMEOUT_MS, loadClient } from '../support/client-package.ts';

const SECOND = 'And the lamp of the lighthouse?';

describe('@langchain/openai with a research model', () => {
  const gateway = clientGateway();
  let langchain: LangChainClient;
  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    langchain = await loadClient<LangChainClient>('./langchain.ts');
  });

  for (const useResponsesApi of [true, false]) {
    describe(useResponsesApi ? 'through Responses' : 'through chat completions', () => {
      const finish = useResponsesApi ? 'completed' : 'stop';
      const target = (model: string = MODEL.research) => ({
        baseURL: gateway.baseURL,
        apiKey: KEY.main,
        model,
        useResponsesApi,
      });

      it('invoke answers, and continues from the messages so far', async () => {
        const [first, second] = await langchain.invoke(target(), [QUESTION, SECOND]);
        assert.ok(first && second);
        assert.match(first.text, /tidal turbine/);
        assert.ok(first.tokens > 0);
        assert.equal(first.finish, finish);
        assert.match(second.text, /lamp.*burns 2 kilowatts/);
        if (useResponsesApi) assert.match(first.sources[0] ?? '', /^corpus:/);
      });

      it('stream yields the text, and its chunks concatenate to the same message', async () => {
        const { text, joined } = await langchain.stream(target(), QUESTION);
        assert.match(text, /tidal turbine/);
        assert.equal(joined.text, text);
        assert.ok(joined.tokens > 0);
        assert.equal(joined.finish, finish);
        if (useResponsesApi) assert.match(joined.sources[0] ?? '', /^corpus:/);
      });

      it('runs a bound tool, and the answer uses its result', async () => {
        for (const model of useResponsesApi ? [MODEL.desk, MODEL.caller] : [MODEL.desk]) {
          const { text } = await langchain.withTool(target(model), QUESTION);
          assert.match(text, /The weather: .*sunny/s, model);
        }
      });

      it('invoke throws if the run fails', async () => {
        await assert.rejects(langchain.invoke(target(MODEL.broken), [QUESTION]), /out of order/);
      });
    });
  }

  it('a failed run makes a chat completions stream throw, and a Responses stream end without a status', async () => {
    const broken = { baseURL: gateway.baseURL, apiKey: KEY.main, model: MODEL.broken };
    await assert.rejects(langchain.stream({ ...broken, useResponsesApi: false }, QUESTION), /out of order/);
    // The client takes no notice of `response.failed`: see docs/compatibility.md.
    const { joined } = await langchain.stream({ ...broken, useResponsesApi: true }, QUESTION);
    assert.deepEqual([joined.text, joined.finish], ['', undefined]);
  });
});
