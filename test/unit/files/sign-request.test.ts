import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { signedTarget, signRequest } from '../../../src/files/s3/sign-request.ts';

/** The examples are Amazon's, from "Authenticating Requests: Using the Authorization Header". */
describe('an S3 signature', () => {
  const credentials = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  };
  const now = Date.UTC(2013, 4, 24);
  const host = 'examplebucket.s3.amazonaws.com';
  const sign = (
    method: string,
    target: string,
    { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {},
  ) => {
    const request = { method, target, headers: { ...headers, host }, payloadHash: hash('sha256', body) };
    const { authorization = '' } = signRequest(request, { credentials, region: 'us-east-1', now });
    const form = /^AWS4-HMAC-SHA256 Credential=(.+), SignedHeaders=(.+), Signature=(.+)$/;
    const [, credential, names, signature] = form.exec(authorization) ?? [];
    assert.equal(credential, 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request');
    return [names, signature];
  };

  it('matches the published example of GET Object', () => {
    assert.deepEqual(sign('GET', signedTarget('/test.txt'), { headers: { range: 'bytes=0-9' } }), [
      'host;range;x-amz-content-sha256;x-amz-date',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ]);
  });

  it('matches the published example of PUT Object', () => {
    const headers = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
    assert.deepEqual(sign('PUT', signedTarget('/test$file.text'), { headers, body: 'Welcome to Amazon S3.' }), [
      'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ]);
  });

  it('matches the published examples with a query', () => {
    const names = 'host;x-amz-content-sha256;x-amz-date';
    assert.deepEqual(sign('GET', signedTarget('/', { lifecycle: '' })), [
      names,
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    ]);
    assert.deepEqual(sign('GET', signedTarget('/', { prefix: 'J', 'max-keys': '2' })), [
      names,
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ]);
  });

  it('covers a path and a query in which only unreserved characters stay unencoded', () => {
    assert.equal(signedTarget("/b/a !'()*é~/x"), '/b/a%20%21%27%28%29%2A%C3%A9~/x');
    assert.equal(signedTarget('/b', { b: '+/=&', a: '' }), '/b?a=&b=%2B%2F%3D%26');
  });
});
