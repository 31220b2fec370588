import assert from 'node:assert/strict';
import { DocumentTexts, UnreadableDocument } from '../../../src/vector-stores/document-text.ts';

const MB = 1024 * 1024;

describe('texts of documents', () => {
  it('are refused for now, not for good, if large documents are being read', async () => {
    using texts = new DocumentTexts();
    const read = () =>
      texts.read(
        { bytes: Buffer.alloc(45 * MB, 'text '), name: 'a.txt', type: 'text/plain' },
        new AbortController().signal,
      );
    const [first, second] = await Promise.allSettled([read(), read()]);
    assert.ok(first.status === 'rejected' && first.reason instanceof UnreadableDocument);
    assert.match(first.reason.message, /too long/);
    assert.ok(second.status === 'rejected');
    assert.equal(second.reason.code, 'overloaded');
  });
});
