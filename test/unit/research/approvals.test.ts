import assert from 'node:assert/strict';
import { needsApproval } from '../../../src/research/calls/approvals.ts';
import type { ApprovalRule } from '../../../src/research/run/request.ts';

describe('the approval of a call of an MCP server', () => {
  const needs = (tool: string, args: object | undefined, rule: Omit<ApprovalRule, 'server'>) =>
    needsApproval(
      { name: `s.${tool}`, arguments: args && JSON.stringify(args) },
      { tools: [], approvals: [{ server: 's', ...rule }] },
    );

  it('is needed for a tool that is called by its name while its server could not be reached', () => {
    const erase = { tool: 'erase', arguments: {} };
    const look = { tool: 'look' };
    const some = { always: ['erase'] };
    assert.deepEqual([needs('erase', {}, some), needs('call', erase, some)], [true, true]);
    assert.deepEqual(
      [needs('look', {}, some), needs('call', look, some), needs('call', {}, some)],
      [false, false, false],
    );
    const others = { never: ['look', 'call'] };
    assert.deepEqual([needs('call', erase, others), needs('call', look, others)], [true, false]);
    assert.equal(needs('call', look, {}), true);
    assert.equal(needsApproval({ name: 's.call', arguments: '{"tool":"erase"}' }, { tools: [] }), false);
  });

  it('may be needed for whatever such a call names, if that is not known yet', () => {
    assert.equal(needs('call', undefined, { always: ['erase'] }), true);
    assert.equal(needs('look', undefined, { always: ['erase'] }), false);
  });
});
