import assert from 'node:assert/strict';
import { boundaryOf, formFields } from '../../../src/protocol/requests/multipart.ts';

const part = (disposition: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
const valuesIn = (body: string) => formFields(Buffer.from(body), 'b', 'model').map(({ value }) => value);

describe('formFields', () => {
  it('finds the field among others, wherever it is', () => {
    const body = `${part('name="a"', '1')}${part('name="model"', 'gpt')}${part('name="z"', '2')}--b--\r\n`;
    assert.deepEqual(valuesIn(body), ['gpt']);
    const [field] = formFields(Buffer.from(body), 'b', 'model');
    assert.equal(body.slice(field?.start, field?.end), 'gpt');
  });

  it('does not look into files', () => {
    const file = part('name="model"; filename="m.txt"', 'no');
    const trick = part('name="file"; filename="x"', 'Content-Disposition: form-data; name="model"\r\n\r\nno');
    assert.deepEqual(valuesIn(`${file}${trick}--b--`), []);
  });

  it('finds a field given twice, an empty one, and one after a preamble', () => {
    assert.deepEqual(valuesIn(`${part('name="model"', 'a')}${part('name=model', '')}--b--`), ['a', '']);
    assert.deepEqual(valuesIn(`preamble\r\n${part('name="model"', 'a')}--b--`), ['a']);
  });

  it('finds nothing in a body that is truncated or not multipart', () => {
    for (const body of ['', '--b', '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ngp', 'hello']) {
      assert.deepEqual(valuesIn(body), []);
    }
  });
});

describe('boundaryOf', () => {
  it('reads quoted and bare boundaries, up to 70 characters', () => {
    assert.equal(boundaryOf('multipart/form-data; boundary=abc'), 'abc');
    assert.equal(boundaryOf('multipart/form-data; charset=utf-8; Boundary="a b"'), 'a b');
    assert.equal(boundaryOf('multipart/form-data'), undefined);
    assert.equal(boundaryOf(`multipart/form-data; boundary=${'x'.repeat(71)}`)?.length, 70);
  });
});
