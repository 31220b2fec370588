import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/base/json.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import type { TextFormat } from '../../../src/protocol/requests/request-formats.ts';
import type { StructuredFormat } from '../../../src/research/answer/schema/structured.ts';
import { lookups, type ResearchScript, runResearch, textOf } from '../../support/research-run.ts';
import { cutTurn, type ScriptedTurn } from '../../support/scripted-model.ts';

const formatOf = (schema: JsonObject): StructuredFormat => ({
  type: 'json_schema',
  name: 'harbour',
  schema,
  strict: undefined,
  description: undefined,
});
const HARBOUR: JsonObject = {
  type: 'object',
  properties: { year: { type: 'integer', minimum: 1800 }, name: { type: 'string' } },
  required: ['year', 'name'],
  additionalProperties: false,
};
const GOOD = '{"year": 1871, "name": "Elmsworth"}';
const BAD = '{"year": "1871"}';

const structured = (answers: ResearchScript['answers'], format: TextFormat = formatOf(HARBOUR)) =>
  runResearch({ turns: [{ calls: lookups('a') }], request: { format }, ...(answers ? { answers } : {}) });

const deltas = ({ events }: Awaited<ReturnType<typeof runResearch>>) =>
  events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));

describe('a structured answer', () => {
  it('is sent in one piece if it is valid', async () => {
    const result = await structured([{ text: [...GOOD] }]);
    assert.equal(result.response.status, 'completed');
    assert.equal(result.response.output_text, GOOD);
    assert.deepEqual(deltas(result), [GOOD]);
    assert.equal(result.asked.answer.length, 1);
    assert.deepEqual(result.asked.answer[0]?.responseFormat, {
      type: 'json_schema',
      json_schema: { name: 'harbour', schema: HARBOUR },
    });
    assert.match(textOf(result.asked.answer[0]), /valid under this JSON Schema/);
  });

  for (const [name, text] of [
    ['in a code fence', `\`\`\`json\n${GOOD}\n\`\`\``],
    ['in a fence without language', `Here:\n\`\`\`\n${GOOD}\n\`\`\`\nDone.`],
    ['in a sentence', `The answer is ${GOOD}, as asked.`],
    ['between line breaks', `\n\n${GOOD}\n`],
  ] as const)
    it(`is found ${name}`, async () => {
      assert.equal((await structured([{ text: [text] }])).response.output_text, GOOD);
    });

  it('keeps a code fence inside one of its strings', async () => {
    const text = '{"code": "```js\\nrun();\\n```"}';
    const { response } = await structured([{ text: [text] }], { type: 'json_object' });
    assert.equal(response.output_text, text);
  });

  it('is repaired once with its errors if it is invalid, and only the repaired one is shown', async () => {
    const result = await structured([{ text: [BAD] }, { text: [GOOD] }]);
    assert.equal(result.response.status, 'completed');
    assert.deepEqual(deltas(result), [GOOD]);
    const repair = textOf(result.asked.answer[1]);
    assert.match(repair, /answer\/year must be integer|must have required property 'name'/);
    assert.ok(repair.includes(JSON.stringify(BAD).slice(1, -1)), 'the model sees what it wrote');
    assert.equal(result.response.usage.total_tokens, 15 * 4, 'both tries are counted');
  });

  const wrong: [string, ScriptedTurn][] = [
    ['is still invalid after that', { text: [BAD] }],
    ['is not JSON', { text: ['The harbour opened in 1871.'] }],
    ['is empty', { text: [''] }],
    ['is cut at its length', { text: [GOOD.slice(0, 12)], finish: 'length' }],
  ];
  for (const [name, answer] of wrong)
    it(`fails with invalid_output if it ${name}, and nothing is shown`, async () => {
      const result = await structured([answer]);
      assert.equal(result.response.status, 'failed');
      assert.equal(result.response.error?.code, 'invalid_output');
      assert.deepEqual(deltas(result), []);
      assert.ok(!result.response.output.some((item) => item.type === 'message'));
      assert.equal(result.asked.answer.length, 2);
      assert.equal(result.response.usage.total_tokens, 15 * 4);
    });

  it('is requested again as a whole if the provider cuts it', async () => {
    const result = await structured([{ text: [GOOD.slice(0, 10)], breaks: cutTurn() }, { text: [GOOD] }]);
    assert.deepEqual(deltas(result), [GOOD]);
  });

  it('may be any object for json_object, but nothing else', async () => {
    const format = { type: 'json_object' } as const;
    const result = await structured([{ text: ['[1, 2]'] }, { text: ['{"a": [1, 2]}'] }], format);
    assert.equal(result.response.output_text, '{"a": [1, 2]}');
    assert.match(textOf(result.asked.answer[1]), /not a JSON object/);
    assert.deepEqual(result.asked.answer[0]?.responseFormat, { type: 'json_object' });
  });

  it('cites in its strings, not in its lists of numbers', async () => {
    const text = '{"ids": [1], "more": [[1]], "told": "Opened in 1871 [1], see https://pages.example/a.\\nBye"}';
    const { message } = await structured([{ text: [text] }], { type: 'json_object' });
    assert.deepEqual(
      answerPart(message)?.annotations.map(({ start_index, end_index }) => text.slice(start_index, end_index)),
      ['[1]', 'https://pages.example/a'],
    );
  });

  it('has images, links and HTML of unknown hosts defused, however they are escaped', async () => {
    const evil = 'https://evil.example/x.png?what=said';
    const value = {
      told: `Seen ![x](${evil}) and [here](${evil})`,
      html: `<img src="${evil}">`,
      fine: '[a page](https://pages.example/a) and 1 < 2, a[0](x)',
      link: evil,
    };
    const text = JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('](', '\\u005d\\u0028');
    const { response } = await structured([{ text: [text] }], { type: 'json_object' });
    const shown: unknown = JSON.parse(String(response.output_text));
    assert.deepEqual(shown, {
      ...value,
      told: `Seen ![x] (${evil}) and [here] (${evil})`,
      html: `< img src="${evil}">`,
    });
    assert.ok(response.output_text?.includes('\\u005d\\u0028https://pages.example/a'), 'the rest stays byte for byte');
  });

  it('still matches its schema once they are defused, or is requested again', async () => {
    const evil = '![x](https://evil.example/?q)';
    const schema: JsonObject = {
      type: 'object',
      properties: {
        told: { type: 'string', maxLength: evil.length },
        image: { type: 'string', format: 'uri' },
        kind: { enum: ['plain', '<b onclick=x>'] },
      },
      additionalProperties: false,
    };
    const address = 'https://elsewhere.example/a.png?b=c';
    const tight = await structured([{ text: [JSON.stringify({ told: evil, image: address })] }], formatOf(schema));
    assert.deepEqual(JSON.parse(String(tight.response.output_text)), {
      told: '![x] https://evil.example/?q)',
      image: address,
    });
    const again = await structured(
      [{ text: ['{"kind": "<b onclick=x>"}'] }, { text: ['{"kind": "plain"}'] }],
      formatOf(schema),
    );
    assert.equal(again.response.output_text, '{"kind": "plain"}');
    assert.match(textOf(again.asked.answer[1]), /Markdown images, links or HTML of hosts that no source is from/);
  });

  it('is preceded by a reasoning item', async () => {
    const { reasoning } = await structured([{ reasoning: ['Which year?'], text: [GOOD] }]);
    assert.equal(reasoning.at(-1)?.content[0]?.text, 'Which year?');
    assert.equal(reasoning.at(-1)?.status, 'completed');
  });
});
