import assert from 'node:assert/strict';
import { chatCompletion } from '../../../src/protocol/chat.ts';
import { toChatCompletion } from '../../../src/runs/projections/chat.ts';
import { lookups, runResearch } from '../../support/research-run.ts';
import { cutTurn, type ScriptedTurn } from '../../support/scripted-model.ts';

/** Pages that the run read, as the model numbers them: a is 1, b is 2, and so on. */
const PAGES = ['a', 'b', 'c', 'd', 'e'];
const pageOf = (number: number) => `https://pages.example/${PAGES[number - 1]}`;

/**
 * The addresses behind the markers of an answer, as chat apps find them: `[n]` opens the n-th annotation of the message
 * (Open WebUI, LobeChat) or the n-th of `citations`.
 */
async function openedBy(answers: ScriptedTurn[]): Promise<{ text: string; opened: (string | undefined)[] }> {
  const { response } = await runResearch({ turns: [{ calls: lookups(...PAGES) }], answers });
  const completion = toChatCompletion(response);
  const message = completion.choices[0]?.message;
  const text = message?.content ?? '';
  const numbers = [...text.matchAll(/\[(\d+(?:, \d+)*)\]/g)].flatMap(([, list = '']) => list.split(', ').map(Number));
  const opened = numbers.map((number) => message?.annotations[number - 1]?.url_citation.url);
  assert.deepEqual(
    opened,
    numbers.map((number) => completion.citations[number - 1]),
  );
  const ranges = message?.annotations ?? [];
  for (const { url_citation: cited } of ranges.slice(0, completion.citations.length))
    assert.match(text.slice(cited.start_index, cited.end_index), new RegExp(`^\\[.*\\b${cited.index}\\b.*\\]$`));
  assert.equal(new Set(ranges.map(({ url_citation: { url } }) => url)).size, ranges.length, 'each source once');
  return { text, opened };
}

describe('citations of chat completions in chat apps', () => {
  for (const [name, answers, cited] of [
    ['out of order', [{ text: ['So [4], then [2] and [5].'] }], [4, 2, 5]],
    ['when repeated', [{ text: ['So [3]. Again [3], and [1], [3].'] }], [3, 3, 1, 3]],
    ['as ranges and lists', [{ text: ['So [2-4], then [5, 2]【1†L2】.'] }], [2, 3, 4, 5, 2, 1]],
    ['with bare addresses before them', [{ text: [`See ${pageOf(5)} and https://no.example/. So [4][5].`] }], [4, 5]],
    ['beside numbers of no source', [{ text: ['So [9], [2, 9] and [4].'] }], [2, 4]],
    [
      'when cut and continued',
      [{ text: ['So [4] and [', '2'], breaks: cutTurn() }, { text: ['], then [4, 1].'] }],
      [4, 2, 4, 1],
    ],
    [
      'when started anew after a cut',
      [
        { text: ['So it was said by the first [4] of'], breaks: cutTurn() },
        { text: ['So it was said by the first [4] of them [1].'] },
      ],
      [4, 1],
    ],
  ] satisfies [string, ScriptedTurn[], number[]][]) {
    it(`resolve to the cited pages ${name}`, async () => {
      const { text, opened } = await openedBy(answers);
      assert.deepEqual(opened, cited.map(pageOf), text);
    });
  }
});

describe('the usage of a chat completion', () => {
  it('says that it is estimated where the response says so', async () => {
    for (const usage of [{ estimated: true }, {}]) {
      const { response } = await runResearch({ turns: [{ text: ['Ready.'], usage }] });
      const { estimated } = chatCompletion.parse(toChatCompletion(response)).usage;
      assert.deepEqual([estimated, response.usage.estimated], [usage.estimated, usage.estimated]);
    }
  });
});
