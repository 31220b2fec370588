import assert from 'node:assert/strict';
import { boundedLookUp } from '../../../src/http/submission/conversation.ts';

const refused = { name: 'GatewayError', code: 'invalid_parameter', message: /^input: at most 500 references/ };

describe('the references of one request', () => {
  const lookUpOf = (length: number) => {
    const runs = { findItem: async (_caller: unknown, id: string) => ({ id, text: 'x'.repeat(length) }) };
    return boundedLookUp({ runs, caller: { user: 'ann', keyId: 'a' } }, 'input');
  };

  it('are bounded in number', async () => {
    const lookUp = lookUpOf(1);
    for (let n = 0; n < 500; n++) assert.equal((await lookUp(`msg_${n}`)).id, `msg_${n}`);
    await assert.rejects(lookUp('msg_500'), refused);
  });

  it('are bounded in what they name together', async () => {
    const lookUp = lookUpOf(15 * 1024 * 1024);
    await lookUp('msg_1');
    await lookUp('msg_1');
    await assert.rejects(lookUp('msg_1'), refused);
  });
});
