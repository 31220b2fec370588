import assert from 'node:assert/strict';
import { Sealer } from '../../../src/base/secrets/sealed.ts';
import { SealedContents } from '../../../src/plain/sealed-contents.ts';

const sealer = new Sealer({ keys: ['a key that tests share'], share: async () => '' });
const ann = { user: 'ann', param: 'input[0].encrypted_content' };
/** As the first version sealed it: clients keep these. */
const FIRST_VERSION =
  'rgs1.4774ea0a.bAhOlwXA6W9sugo5kwzn2FhESBirrAtRcIp926YO6CClk2NvMgn5x16JMkzbZJP3Cvh2_Sf_ABRPUp8q3FI583RF_4_Z-PbAhgTbKGZaB9jQY1AvU7DPR2EE1pSczpux8sB9taAxOMdDw-ISwkqhrA';

describe('encrypted_content that clients keep', () => {
  const thoughts = new SealedContents(sealer);

  it('opens as the first version sealed it', async () => {
    assert.deepEqual(await thoughts.openThought(FIRST_VERSION, ann), {
      v: 1,
      replay: { provider: 'p', fields: { reasoning_content: 'Hm.' } },
      behind: true,
    });
  });

  it('is refused with its param if a newer gateway sealed it', async () => {
    const newer = await sealer.seal(JSON.stringify({ v: 2 }), { user: 'ann', kind: 'reasoning' });
    await assert.rejects(thoughts.openThought(newer, ann), {
      code: 'invalid_parameter',
      param: ann.param,
      message: /newer/,
    });
  });
});
