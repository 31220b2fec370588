import assert from 'node:assert/strict';
import type { InstructorClient, LlamaIndexClient } from '../clients/contract.ts';
import { clientGateway, KEY, MODEL, QUESTION } from '../support/client-gateway.ts';
import { INSTALL_TIMEOUT_MS, loadClient } from '../support/client-package.ts';
import { KEYS } from '../support/http-gateway.ts';
import { openResearchGateway } from '../support/research-gateway.ts';

describe('LlamaIndex with a research model', () => {
  const gateway = clientGateway();
  let client: LlamaIndexClient;
  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    client = await loadClient<LlamaIndexClient>('./llamaindex.ts');
  });

  it('answers, whole and streamed, through chat completions', async () => {
    const target = { baseURL: gateway.baseURL, apiKey: KEY.main, model: MODEL.research };
    const { text, streamed } = await client.chat(target, QUESTION);
    assert.match(text, /tidal turbine/);
    assert.match(streamed, /tidal turbine/);
  });
});

describe('instructor with a research model', () => {
  let client: InstructorClient;
  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    client = await loadClient<InstructorClient>('./instructor.ts');
  });

  for (const mode of ['JSON', 'JSON_SCHEMA', 'MD_JSON'] as const) {
    it(`extracts a value in mode ${mode}`, async () => {
      await using gateway = await openResearchGateway({
        model: ({ research }) => ({ text: research ? 'Ready.' : '```json\n{"answer": "by a turbine"}\n```' }),
      });
      const target = { baseURL: `${gateway.url}/v1`, apiKey: KEYS.ann, model: 'deep' };
      assert.equal(await client.extract(target, mode, QUESTION), 'by a turbine');
    });
  }
});
