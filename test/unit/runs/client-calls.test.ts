import assert from 'node:assert/strict';
import { newRunId } from '../../../src/base/ids.ts';
import { searchResultOf } from '../../../src/research/run/steps.ts';
import { clientCallItems } from '../../../src/runs/executing/log/client-calls.ts';

describe('calls of deferred functions', () => {
  const long = 'd'.repeat(100_000);
  const parameters = { type: 'object', properties: {} };
  const offered = [
    { name: 'get_weather', description: long, parameters, deferred: '' },
    { name: 'crm.find', description: 'Finds.', parameters, deferred: long },
    { name: 'crm.add', description: 'Adds.', parameters, deferred: '' },
  ];
  const callsOf = (...names: string[]) =>
    names.map((name, n) => {
      return {
        callId: `call_${n}`,
        name: name.split('.').at(-1) ?? '',
        arguments: '{}',
        ...searchResultOf(name, offered),
      };
    });
  const itemsOf = (...names: string[]) => [...clientCallItems(callsOf(...names), { run: newRunId(), index: 5 })];

  it('report each found function once, however often it is called', () => {
    const items = itemsOf(...Array.from({ length: 100 }, () => ['get_weather', 'crm.find', 'crm.add']).flat());
    const types = items.map(({ item }) => item.type);
    const search = ['tool_search_call', 'tool_search_output', 'function_call'];
    assert.deepEqual(types.slice(0, 9), [...search, ...search, ...search]);
    assert.deepEqual(new Set(types.slice(9)), new Set(['function_call']));
    assert.equal(items.length, 306);
    assert.ok(JSON.stringify(items).length < 1_000_000, 'definitions are told more than once');
    const groups = items.flatMap(({ item }) => (item.type === 'tool_search_output' ? item.tools : []));
    assert.deepEqual(
      groups.map(({ name, description }) => [name, String(description).length]),
      [
        ['get_weather', long.length],
        ['crm', long.length],
        ['crm', 0],
      ],
    );
  });

  it('report the description of a namespace with the first of its functions that is called', () => {
    const [, output] = itemsOf('crm.add');
    assert.ok(output?.item.type === 'tool_search_output');
    assert.deepEqual([output.item.tools[0]?.name, output.item.tools[0]?.description], ['crm', long]);
  });

  it('take consecutive output indexes', () => {
    const items = itemsOf('crm.find', 'crm.find', 'get_weather');
    const places = items.map(({ events }) => events.map((event) => 'output_index' in event && event.output_index));
    assert.deepEqual(
      places.map((all) => new Set(all)),
      [5, 6, 7, 8, 9, 10, 11].map((place) => new Set([place])),
    );
  });

  it('keep arguments as text if they are too deep to serialise', () => {
    const args = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const call = { callId: 'call_1', name: 'tool_search', arguments: args, as: 'search' as const };
    const [first] = [...clientCallItems([call], { run: newRunId(), index: 0 })];
    assert.ok(JSON.parse(JSON.stringify(first?.item)).arguments === args);
  });
});
