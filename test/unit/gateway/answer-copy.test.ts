import assert from 'node:assert/strict';
import { FairSemaphore } from '../../../src/base/fair-semaphore.ts';
import { AnswerCopy } from '../../../src/gateway/answers/answer-copy.ts';

const HEAD = { 'content-type': 'text/plain' };

function open(options: { limit?: number; permits?: number } = {}) {
  const memory = new FairSemaphore({
    name: 'test',
    permits: options.permits ?? 100,
    fullError: () => new Error('full'),
  });
  return { memory, copy: new AnswerCopy({ limit: options.limit ?? 100, memory: memory.open('k') }) };
}

const textOf = (copy: AnswerCopy) => Buffer.from(copy.answer?.body ?? '', 'base64').toString();

describe('AnswerCopy', () => {
  it('copies what was sent, so that its buffer can be reused', () => {
    const { copy } = open();
    copy.begin(200, HEAD);
    const bytes = Buffer.from('one ');
    copy.push(bytes);
    bytes.fill(0);
    copy.push('two');
    assert.equal(textOf(copy), '', 'it is not complete yet');
    copy.complete();
    assert.deepEqual([copy.answer?.status, copy.answer?.headers, textOf(copy)], [200, HEAD, 'one two']);
  });

  it('has no answer if it is too long or its status is not 200', () => {
    const { copy, memory } = open({ limit: 5 });
    copy.begin(200, HEAD);
    for (const piece of ['1234', '56', '7']) copy.push(piece);
    copy.complete();
    assert.equal(copy.answer, undefined);
    assert.equal(memory.held, 0, 'what was held is given back at once');
    const { copy: other } = open();
    other.begin(204, {});
    other.complete();
    assert.equal(other.answer, undefined);
  });

  it('has no answer if memory runs out, and releases memory when disposed', () => {
    const { copy, memory } = open({ permits: 5 });
    copy.begin(200, HEAD);
    copy.push('1234');
    assert.equal(memory.held, 4);
    copy[Symbol.dispose]();
    assert.equal(memory.held, 0);
    const { copy: second } = open({ permits: 5 });
    second.begin(200, HEAD);
    for (const piece of ['1234', '56', '7']) second.push(piece);
    second.complete();
    assert.equal(second.answer, undefined);
  });
});
