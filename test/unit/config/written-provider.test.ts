import assert from 'node:assert/strict';
import { maskedProvider } from '../../../src/config/provider-section.ts';

describe('maskedProvider', () => {
  it('keeps references to variables and files, and replaces all other secrets with references', () => {
    const kept = {
      api_key: `\${file:/run/secrets/a}`,
      headers: { authorization: `Bearer \${TOKEN}`, 'x-plain': 'plain', 'x-team': { file: '/run/secrets/team' } },
    };
    assert.deepEqual(maskedProvider('up', kept), kept);
    const headers = { 'x-team': { command: ['vault', '--token', 'sk-in-an-argument'] }, authorization: 'Bearer sk-x' };
    const shown = maskedProvider('up', { api_key: { command: ['echo', 'sk-in-an-argument'] }, headers });
    assert.equal(shown.api_key, `\${UP_API_KEY}`);
    assert.deepEqual(shown.headers, { 'x-team': `\${UP_X_TEAM}`, authorization: `Bearer \${UP_AUTHORIZATION}` });
  });
});
