import assert from 'node:assert/strict';
import { replaceSpans, unstreamedChanges } from '../../../src/gateway/replace-spans.ts';

describe('replaced spans', () => {
  const change = (text: string) => {
    const body = Buffer.from(text);
    return replaceSpans(body, unstreamedChanges(body)).toString();
  };

  it('turn a stream off wherever it is asked for, and leave the rest as it came', () => {
    assert.equal(
      change('{"stream" : true,"a":[1.0, {"stream":true}],"stream_options":{"include_usage":true},"stream":true }'),
      '{"stream" : false,"a":[1.0, {"stream":true}],"stream_options":null,"stream":false }',
    );
    assert.equal(change('{"model":"m"}'), '{"model":"m"}');
  });
});
