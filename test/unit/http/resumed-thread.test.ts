import assert from 'node:assert/strict';
import { resumeFromThread } from '../../../src/http/submission/function-outputs.ts';
import { parseValue } from '../../../src/protocol/requests/parse.ts';
import { inputItem } from '../../../src/protocol/requests/request-input.ts';

describe('a research that nothing is stored of', () => {
  const question = { role: 'user', content: 'Who is at the desk?' };
  const asks = { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'desk', name: 'read', arguments: '{}' };
  const answer = (approve: boolean) => ({ type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve });
  const resume = (...items: object[]) => resumeFromThread(items.map((item) => parseValue(inputItem, item)));

  it('goes on with the calls that its user has approved or denied', () => {
    const approved = resume(question, asks, answer(true));
    assert.deepEqual(approved?.goesOn.approved, [{ call: 0, request: 'mcpr_1', name: 'desk.read' }]);
    assert.deepEqual(
      approved?.goesOn.entries.map(({ t }) => t),
      ['turn'],
    );
    const denied = resume(question, asks, answer(false));
    assert.equal(denied?.goesOn.approved, undefined);
    const result = denied?.goesOn.entries.find(({ t }) => t === 'result');
    assert.match(JSON.stringify(result), /The user denied this call/);
  });

  it('takes no call for made whose approval is missing, or that has another output', () => {
    assert.equal(resume(question, asks), undefined);
    assert.equal(resume(question, asks, { type: 'function_call_output', call_id: 'mcpr_1', output: 'Ann' }), undefined);
  });
});
