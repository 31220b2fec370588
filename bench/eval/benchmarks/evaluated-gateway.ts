import { silentLogger } from '../../../src/base/logger.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { ResponseObject } from '../../../src/protocol/response.ts';
import { startGateway } from '../../../src/server.ts';
import { gatewayConfig } from '../evaluate.ts';

/** A gateway by a configuration of the operator, on a free port, with a store of its own and a key of the evaluation. */
export interface EvaluatedGateway extends AsyncDisposable {
  /** Asks a research model and waits for its whole response, however long that takes. */
  research(model: string, input: string): Promise<ResponseObject>;
  /** One answer of any model. */
  chat(model: string, prompt: string): Promise<string>;
}

/** @throws ConfigError */
export async function startEvaluated(file: string): Promise<EvaluatedGateway> {
  const { config } = await loadConfig({ environment: readEnvironment(), file });
  const { keys, store, server } = gatewayConfig({ baseUrl: 'http://127.0.0.1/', model: 'none' }, { folder: '.' });
  const own = { ...config, store, server: { ...config.server, port: server.port }, keys: [...config.keys, ...keys] };
  const gateway = await startGateway({ config: own, log: silentLogger });
  const secret = keys[0]?.secret;
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`the gateway answered ${answer.status}: ${await answer.text()}`);
    return answer;
  };
  return {
    async research(model, input) {
      // A stream has heartbeats: nothing between here and there takes a long run for a dead one.
      const events = await (await post('/v1/responses', { model, input, stream: true })).text();
      const last = events.match(/^data: .*"type":"response\.(?:completed|failed|incomplete|cancelled)".*$/gm)?.at(-1);
      if (!last) throw new Error('the stream ended without an answer');
      return JSON.parse(last.slice('data: '.length)).response;
    },
    async chat(model, prompt) {
      const messages = [{ role: 'user', content: prompt }];
      const { choices } = JSON.parse(await (await post('/v1/chat/completions', { model, messages })).text());
      return String(choices?.[0]?.message?.content ?? '');
    },
    [Symbol.asyncDispose]: () => gateway.close(),
  };
}
