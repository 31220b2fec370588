import assert from 'node:assert/strict';
import { chunkDocument } from '../../../src/tools/web-search/local/chunks.ts';
import { DocumentIndex } from '../../../src/tools/web-search/local/document-index.ts';

/** Texts and questions about the same towns in one language; each text also mentions another town. */
interface Language {
  syllables: readonly string[];
  trades: readonly string[];
  feasts: readonly string[];
  text(town: string, about: { river: string; trade: string; feast: string; other: string }): string;
  questions(town: string, about: { river: string; trade: string; feast: string }): string[];
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  English: {
    syllables: ['Tarn', 'Hal', 'Ost', 'Brim', 'Wel', 'Dor', 'Kes', 'Lund', 'Mar', 'Pell'],
    trades: ['lanterns', 'barrels', 'bells', 'maps', 'ropes'],
    feasts: ['harvest feast', 'feast of lights', 'spring fair', 'boat race', 'winter market'],
    text: (town, { river, trade, feast, other }) =>
      `The town of ${town} lies on the river ${river}. Its workshops make ${trade}. Every year people come to the ${feast}. The road to ${other} was built later.`,
    questions: (town, { river, trade, feast }) => [
      `On which river does ${town} lie?`,
      `What do the workshops of ${town} make?`,
      `Which town on the ${river} makes ${trade}?`,
      `When is the ${feast} of ${town}?`,
    ],
  },
  Chinese: {
    syllables: ['临', '青', '石', '河', '松', '海', '云', '安', '平', '桥'],
    trades: ['灯笼', '木桶', '铜钟', '地图', '绳索'],
    feasts: ['丰收节', '灯火节', '春季集市', '龙舟赛', '冬季市场'],
    text: (town, { river, trade, feast, other }) =>
      `${town}镇位于${river}江边。镇上的作坊制造${trade}。每年人们都来参加${feast}。通往${other}镇的道路是后来修建的。`,
    questions: (town, { river, trade, feast }) => [
      `${town}镇位于哪条江边？`,
      `${town}镇的作坊制造什么？`,
      `${river}江边哪个镇制造${trade}？`,
      `${town}镇的${feast}在什么时候？`,
    ],
  },
  Japanese: {
    syllables: ['北', '川', '松', '山', '浜', '森', '谷', '原', '島', '橋'],
    trades: ['ランタン', '樽', '鐘', '地図', 'ロープ'],
    feasts: ['収穫祭', '灯籠まつり', '春の市', 'ボートレース', '冬の市場'],
    text: (town, { river, trade, feast, other }) =>
      `${town}町は${river}川のほとりにあります。工房では${trade}を作っています。毎年${feast}に人々が集まります。${other}町への道は後に作られました。`,
    questions: (town, { river, trade, feast }) => [
      `${town}町はどの川のほとりにありますか？`,
      `${town}町の工房では何を作っていますか？`,
      `${river}川のほとりで${trade}を作っている町はどこですか？`,
      `${town}町の${feast}はいつですか？`,
    ],
  },
};

const TOWNS = 90;

/** The mean of 1/rank of the right town over all questions. */
async function meanReciprocalRank(language: Language): Promise<number> {
  const { syllables, trades, feasts } = language;
  const part = (number: number) => syllables[number % syllables.length] ?? '';
  const name = (at: number) => `${part(at)}${part(Math.floor(at / 10) + 3)}${part(at * 7 + 1)}`.toLowerCase();
  const towns = Array.from({ length: TOWNS }, (_, at) => ({
    town: name(at),
    river: `${part(Math.floor(at / 10) + 3)}${part(at + 5)}${part(at * 7 + 1)}${part(at)}`.toLowerCase(),
    trade: trades[at % trades.length] ?? '',
    feast: feasts[(at * 3) % feasts.length] ?? '',
    other: name((at + 13) % TOWNS),
  }));
  using index = new DocumentIndex();
  const put = towns.map(({ town, ...about }, at) => ({
    file: { path: `${at}.md`, signature: 'x' },
    document: chunkDocument(language.text(town, about), { contentType: 'text/markdown', name: `${at}.md` }),
  }));
  await index.putInSlices(...put);
  const ranks = towns.flatMap(({ town, ...about }, at) =>
    language.questions(town, about).map((question) => {
      const rank = index.search(question, 10).findIndex(({ path }) => path === `${at}.md`);
      return rank < 0 ? 0 : 1 / (rank + 1);
    }),
  );
  return ranks.reduce((sum, rank) => sum + rank, 0) / ranks.length;
}

describe('the local search in other languages', () => {
  let english: number;

  before(async () => {
    english = await meanReciprocalRank(LANGUAGES.English ?? assert.fail());
  });

  it('finds the right document in English', () => {
    assert.ok(english > 0.8, `mean reciprocal rank ${english}`);
  });

  for (const name of ['Chinese', 'Japanese']) {
    it(`finds it equally well in ${name}`, async () => {
      const found = await meanReciprocalRank(LANGUAGES[name] ?? assert.fail());
      assert.ok(found > english - 0.05, `mean reciprocal rank ${found}, in English ${english}`);
    });
  }
});
