import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import type { AiSdkClient } from '../clients/contract.ts';
import { clientGateway, KEY, MODEL, QUESTION } from '../support/client-gateway.ts';
import { INSTALL_TIMEOUT_MS, loadClient } from '../support/client-package.ts';

const weatherIn = (object: unknown) => (isObject(object) ? String(object.weather) : '');
const SECOND = 'And the lamp of the lighthouse?';

describe('the AI SDK with a research model', () => {
  const gateway = clientGateway();
  let sdk: AiSdkClient;
  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    sdk = await loadClient<AiSdkClient>('./ai-sdk.ts');
  });
  const target = (api: 'responses' | 'chat', model: string = MODEL.research) => ({
    baseURL: gateway.baseURL,
    apiKey: KEY.main,
    model,
    api,
    accept: 'application/json',
  });

  for (const api of ['responses', 'chat'] as const) {
    it(`streamText over ${api} returns text, sources and usage, and continues from the messages so far`, async () => {
      const [first, second] = await sdk.stream(target(api), [QUESTION, SECOND]);
      assert.ok(first && second);
      assert.deepEqual([first.errors, first.finish], [[], 'stop']);
      assert.match(first.text, /tidal turbine/);
      assert.match(first.sources[0] ?? '', /^corpus:/);
      assert.ok(first.tokens > 0);
      assert.deepEqual([second.errors, second.finish], [[], 'stop']);
      assert.match(second.text, /lamp.*burns 2 kilowatts/);
    });

    it(`streamText over ${api} reports a failed run`, async () => {
      const [answer] = await sdk.stream(target(api, MODEL.broken), [QUESTION]);
      assert.match(answer?.errors.join() ?? '', /out of order/);
    });
  }

  it('streamText over Responses reports a run that fails in the middle of its answer', async () => {
    const [answer] = await sdk.stream(target('responses', MODEL.cut), [QUESTION]);
    assert.deepEqual(
      [answer?.text, answer?.finish, answer?.errors.length],
      ['The first half of the answer', 'error', 1],
    );
  });

  it('generateText over chat completions returns the answer and its sources, and throws if the run fails', async () => {
    const answer = await sdk.generate(target('chat'), QUESTION);
    assert.match(answer.text, /tidal turbine/);
    assert.match(answer.sources[0] ?? '', /^corpus:/);
    await assert.rejects(sdk.generate(target('chat', MODEL.broken), QUESTION), /out of order/);
  });

  it('generateText over Responses rejects the gateway’s tool_call items, as the documentation warns', async () => {
    await assert.rejects(sdk.generate(target('responses'), QUESTION), /Invalid JSON response/);
  });

  it('a chat stream that fails in the middle of its answer ends with the finish reason "error"', async () => {
    // It reads the frame that holds the error alone, not the one beside choices.
    const [answer] = await sdk.stream(target('chat', MODEL.cut), [QUESTION]);
    assert.deepEqual([answer?.text, answer?.finish], ['The first half of the answer', 'error']);
  });
});

for (const [version, file] of [
  ['5', './ai-sdk-5.ts'],
  ['6', './ai-sdk-6.ts'],
  ['7', './ai-sdk.ts'],
] as const) {
  describe(`the AI SDK ${version} out of the box, with the OpenAI profile`, () => {
    const gateway = clientGateway();
    let sdk: AiSdkClient;
    before(async function () {
      this.timeout(INSTALL_TIMEOUT_MS);
      sdk = await loadClient<AiSdkClient>(file);
    });
    const target = (api: 'responses' | 'chat', model: string = MODEL.research) => ({
      baseURL: gateway.baseURL,
      apiKey: KEY.openai,
      model,
      api,
    });

    for (const api of ['responses', 'chat'] as const) {
      it(`generateText over ${api} returns text, sources and usage`, async () => {
        const answer = await sdk.generate(target(api), QUESTION);
        assert.match(answer.text, /tidal turbine/);
        assert.match(answer.sources[0] ?? '', /^corpus:/);
        assert.ok(answer.tokens > 0);
        if (api === 'responses') assert.notEqual(answer.reasoning, '', 'thoughts are shown');
      });

      it(`streamText over ${api} returns them too, and continues from the messages so far`, async () => {
        const [first, second] = await sdk.stream(target(api), [QUESTION, SECOND]);
        assert.deepEqual([first?.errors, first?.finish], [[], 'stop']);
        assert.match(first?.text ?? '', /tidal turbine/);
        assert.match(first?.sources[0] ?? '', /^corpus:/);
        if (api === 'responses') assert.notEqual(first?.reasoning, '', 'thoughts are shown');
        assert.deepEqual([second?.errors, second?.finish], [[], 'stop']);
        assert.match(second?.text ?? '', /lamp.*burns 2 kilowatts/);
      });
    }

    it('generateText throws if the run fails', async () => {
      await assert.rejects(sdk.generate(target('chat', MODEL.broken), QUESTION), /out of order/);
    });

    for (const [api, model] of [
      ['responses', MODEL.desk],
      ['chat', MODEL.desk],
      ['responses', MODEL.caller],
    ] as const) {
      it(`runs its tool when ${model} calls it over ${api}, with generateText and streamText`, async () => {
        const { text, streamed } = await sdk.withTool(target(api, model), QUESTION);
        assert.match(text, /The weather: .*sunny/s);
        assert.match(streamed, /The weather: .*sunny/s);
      });

      it(`gets an object from ${model} over ${api}, with its tool and by generateObject`, async () => {
        // Version 5 returns no object if `incomplete_details` says why the research ended, as it does here.
        const givesObject = version !== '5' || model !== MODEL.desk || api !== 'responses';
        const { withTool, alone } = await sdk.object(target(api, model), QUESTION, { readsTool: givesObject });
        if (givesObject) assert.match(weatherIn(withTool), /The weather: .*sunny/s);
        if (version === '7') assert.equal(alone, undefined);
        else assert.match(weatherIn(alone), /The weather: /);
      });
    }
  });
}

describe('the AI SDK provider for OpenAI-compatible servers, as Cherry Studio uses it', () => {
  const gateway = clientGateway();
  let sdk: AiSdkClient;
  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    sdk = await loadClient<AiSdkClient>('./ai-sdk-compatible.ts');
  });
  const target = (model: string = MODEL.research) => ({
    baseURL: gateway.baseURL,
    apiKey: KEY.main,
    model,
    api: 'chat' as const,
  });

  it('returns text, thoughts with searches and reads, and usage, and continues from its messages', async () => {
    const [first, second] = await sdk.stream(target(), [QUESTION, SECOND]);
    assert.ok(first && second);
    assert.deepEqual([first.errors, first.finish, second.errors], [[], 'stop', []]);
    assert.match(first.text, /tidal turbine/);
    assert.match(first.reasoning ?? '', /^Searching: [\s\S]*^Reading: /m);
    assert.ok(first.tokens > 0);
    assert.match(second.text, /lamp.*burns 2 kilowatts/);
    // It takes no notice of annotations: docs/apps/cherry-studio.md says what to choose for sources.
    assert.deepEqual(first.sources, []);
  });

  it('answers without streaming', async () => {
    const answer = await sdk.generate(target(), QUESTION);
    assert.match(answer.text, /tidal turbine/);
    assert.match(answer.reasoning ?? '', /\w/);
  });

  it('reports runs that fail before or in the middle of their answer', async () => {
    const [broken] = await sdk.stream(target(MODEL.broken), [QUESTION]);
    assert.match(broken?.errors.join() ?? '', /out of order/);
    const [cut] = await sdk.stream(target(MODEL.cut), [QUESTION]);
    assert.equal(cut?.text, 'The first half of the answer');
    assert.notEqual(cut?.errors.join(), '');
  });
});
