import assert from 'node:assert/strict';
import type { AgentsClient } from '../clients/contract.ts';
import { clientGateway, KEY, MODEL, QUESTION } from '../support/client-gateway.ts';
import { INSTALL_TIMEOUT_MS, loadClient } from '../support/client-package.ts';

const SECOND = 'And the lamp of the lighthouse?';

describe('@openai/agents with a research model', () => {
  const gateway = clientGateway();
  let agents: AgentsClient;
  before(async function () {
    this.timeout(INSTALL_TIMEOUT_MS);
    agents = await loadClient<AgentsClient>('./agents.ts');
  });
  const target = (model: string = MODEL.research) => ({ baseURL: gateway.baseURL, apiKey: KEY.main, model });

  it('continues a conversation by sending all earlier items back', async () => {
    const [first, second] = await agents.conversation(target(), [QUESTION, SECOND]);
    assert.ok(first && second);
    assert.match(first.output, /tidal turbine/);
    assert.ok(first.items.includes('reasoning'), 'reasoning items are among those sent back');
    assert.match(second.output, /lamp.*burns 2 kilowatts/);
    assert.ok(first.tokens > 0);
  });

  it('continues a conversation by response ids', async () => {
    const [first, second] = await agents.chained(target(), [QUESTION, SECOND]);
    assert.match(first?.responseId ?? '', /^resp_/);
    assert.notEqual(second?.responseId, first?.responseId);
    assert.match(second?.output ?? '', /lamp.*burns 2 kilowatts/);
  });

  it('streams the text of its final output', async () => {
    const { text, output } = await agents.streamed(target(), QUESTION);
    assert.match(text, /tidal turbine/);
    assert.equal(text, output);
  });

  it('uses the hosted web search', async () => {
    assert.match(await agents.withHostedSearch(target(), QUESTION), /tidal turbine/);
  });

  it('runs its function tool, and the research continues with the result', async () => {
    assert.match(await agents.withFunctionTool(target(MODEL.desk), QUESTION), /The weather: .*sunny/s);
  });

  it('hands off to an agent that runs its function, with a guardrail on the input', async () => {
    const { output, agent, guarded } = await agents.withHandoff(target(MODEL.caller), QUESTION);
    assert.match(output, /The weather: sunny/);
    assert.equal(agent, 'Forecaster');
    assert.match(guarded.join(), /lighthouse of Elmsworth/);
  });

  it('throws if the run fails, streamed or not', async () => {
    await assert.rejects(agents.conversation(target(MODEL.broken), [QUESTION]), /response\.failed/);
    await assert.rejects(agents.streamed(target(MODEL.broken), QUESTION), /response\.failed/);
  });
});
