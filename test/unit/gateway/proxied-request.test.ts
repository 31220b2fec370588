import assert from 'node:assert/strict';
import { readUnstreamed, replaceSpans } from '../../../src/gateway/proxied-request.ts';

describe('readUnstreamed', () => {
  const change = (text: string) => {
    const body = Buffer.from(text);
    return replaceSpans(body, readUnstreamed(body).changes).toString();
  };

  it('turns streaming off at the top level, and leaves all other bytes unchanged', () => {
    assert.equal(
      change('{"stream" : true,"a":[1.0, {"stream":true}],"stream_options":{"include_usage":true},"stream":true }'),
      '{"stream" : false,"a":[1.0, {"stream":true}],"stream_options":null,"stream":false }',
    );
    assert.equal(change('{"model":"m"}'), '{"model":"m"}');
  });
});
