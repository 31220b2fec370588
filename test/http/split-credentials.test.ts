import assert from 'node:assert/strict';
import { CLIENT_KEY, startProxyGateway } from '../support/proxy-gateway.ts';
import { raw, type Step, startScriptedProvider } from '../support/scripted-provider.ts';

const SECRET = 'sk-secret-of-the-provider';

describe('a provider credential split over two chunks', () => {
  for (const at of [1, 9, SECRET.length - 1]) {
    it(`is masked in a streamed passthrough answer (split after ${at})`, async () => {
      const seen = Promise.withResolvers<void>();
      const steps: Step[] = [
        { do: 'send', bytes: `before ${SECRET.slice(0, at)}` },
        { do: 'until', promise: seen.promise },
        { do: 'send', bytes: `${SECRET.slice(at)} after` },
        { do: 'end' },
      ];
      const script = { ...raw(''), headers: { 'content-type': 'text/plain' }, steps };
      await using provider = await startScriptedProvider({ respond: () => script });
      await using gateway = await startProxyGateway({
        providers: { only: { url: provider.url, apiKey: SECRET } },
        passthrough: [{ path: '/v1/files', provider: 'only' }],
        key: { passthrough: ['/v1/files'] },
      });
      const headers = { authorization: `Bearer ${CLIENT_KEY}` };
      const answer = await fetch(`${gateway.url}/files`, { method: 'POST', headers });
      let text = '';
      for await (const piece of answer.body ?? []) {
        text += Buffer.from(piece).toString();
        // The first piece has arrived; the second one comes alone.
        seen.resolve();
      }
      assert.equal(text, `before ${'*'.repeat(SECRET.length)} after`);
    });
  }
});
