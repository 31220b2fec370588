import assert from 'node:assert/strict';
import { chunkDocument } from '../../../src/tools/web-search/local/chunks.ts';
import { DocumentIndex } from '../../../src/tools/web-search/local/document-index.ts';
import { detectLanguage } from '../../../src/tools/web-search/local/languages.ts';

async function indexOf(texts: Record<string, string>): Promise<DocumentIndex> {
  const index = new DocumentIndex();
  const put = Object.entries(texts).map(([path, text]) => ({
    file: { path, signature: 'x' },
    document: chunkDocument(text, { contentType: 'text/plain', name: path }),
  }));
  await index.putInSlices(...put);
  await index.revisitInSlices();
  return index;
}

/** Per language: a text, others beside it, and a query that uses other forms of the words in the text. */
const TEXTS: readonly [language: string, wanted: string, others: readonly string[], query: string][] = [
  [
    'de',
    'Die Häuser an der Küste wurden von den Fischern aus alten Brettern gebaut, und sie sind nicht mehr bewohnt.',
    ['Der Wald hinter dem Dorf ist alt und dunkel, und im Winter geht niemand hin.'],
    'Welcher Fischer baute das Haus?',
  ],
  [
    'fr',
    'Les journaux nationaux ont publié les résultats des élections, et les lecteurs les ont discutés dans les cafés.',
    ['La forêt derrière le village est sombre, et personne ne va là pendant les mois froids.'],
    'journal national publiant le résultat d’une élection',
  ],
  [
    'es',
    'Las canciones de los pescadores hablaban de tormentas, y los niños las cantaban en las plazas de los pueblos.',
    ['El bosque detrás de la casa es oscuro, y nadie va hasta allí durante el invierno.'],
    '¿Qué canción cantaba un niño?',
  ],
  [
    'it',
    'Le navi dei mercanti portavano spezie, e i marinai le vendevano nei mercati della città prima di partire.',
    ['Il bosco dietro la casa è scuro, e nessuno ci va quando fa freddo.'],
    'mercante che vendeva spezia dalla nave',
  ],
  [
    'ru',
    'Старые книги хранились в библиотеках монастырей, и учёные приезжали, чтобы читать их при свечах.',
    ['Лес за деревней тёмный, и зимой туда никто не ходит, потому что холодно.'],
    'в какой библиотеке хранилась книга',
  ],
  [
    'sv',
    'Fiskarnas båtar låg i hamnen, och de som ägde dem sålde fisken på torget när det inte var för kallt.',
    ['Skogen bakom byn är mörk, och på vintern går ingen dit för att det är kallt.'],
    'vilken fiskare hade en båt i en hamn',
  ],
];

describe('the local search by word stems', () => {
  for (const [language, wanted, others, query] of TEXTS) {
    it(`finds other forms of a word (${language})`, async () => {
      assert.equal(detectLanguage(wanted), language);
      using index = await indexOf({
        'wanted.txt': wanted,
        ...Object.fromEntries(others.map((text, at) => [`other-${at}.txt`, text])),
        // A document in another language.
        'english.txt': 'The fishermen of the coast sang songs that nobody has written down, and they are forgotten.',
      });
      assert.equal(index.search(query, 3)[0]?.path, 'wanted.txt');
    });
  }

  it('detects no language in a name or an empty text', () => {
    assert.equal(detectLanguage('Tarnfeld Mill 1947'), undefined);
    assert.equal(detectLanguage(''), undefined);
  });
});

const FILLER = [
  'Die Pumpe im Keller ist alt, aber sie läuft noch, und die Wärme reicht für das ganze Haus.',
  'Eine Pumpe wird jedes Jahr geprüft. Wärme geht verloren, wenn die Fenster nicht dicht sind.',
  'Die Anlage wurde im Herbst gebaut und ist seit dem Frühling in Betrieb, ohne dass es Ärger gab.',
  'Für die Anlage gibt es einen Vertrag, der die Wartung regelt, und der Vertrag gilt für zwei Jahre.',
  'Ein Vertrag ist kein Versprechen, und wer ihn nicht liest, hat später keinen Grund zur Klage.',
  'Die Wartung ist nicht teuer, wenn man sie nicht vergisst, und sie dauert einen Tag.',
];

describe('the local search by parts of compound words', () => {
  it('finds a compound by its parts, and the parts by the compound', async () => {
    using index = await indexOf({
      ...Object.fromEntries(FILLER.map((text, at) => [`${at}.txt`, `${text} ${text}`])),
      'whole.txt':
        'Wegen der Wärmepumpenanlagen hat man uns geschrieben, dass sich die Preise nicht ändern, und wir sind froh.',
      'contract.txt': 'Das Büro hat die Wartungsverträge neu geordnet, und sie liegen nun alle im Schrank.',
      'english.txt': 'The heat of the cellar is what they are paid for, and nobody has asked them about it.',
    });
    const paths = (query: string) => index.search(query, 10).map(({ path }) => path);
    assert.ok(paths('Preise einer Pumpe').includes('whole.txt'));
    assert.ok(paths('Vertrag').includes('contract.txt'));
    // Separate words in a document are found by their compound.
    assert.equal(paths('Anlagenwartung')[0], '3.txt');
  });

  it('splits compounds whatever the order of the documents', async () => {
    const whole = {
      'whole.txt': 'Die Wärmepumpe ist ein Gerät, von dem hier nicht die Rede sein soll, und es ist da.',
    };
    const rest = Object.fromEntries(FILLER.map((text, at) => [`${at}.txt`, `${text} ${text}`]));
    for (const texts of [
      { ...whole, ...rest },
      { ...rest, ...whole },
    ]) {
      using index = await indexOf(texts);
      assert.ok(
        index
          .search('Pumpe', 10)
          .map(({ path }) => path)
          .includes('whole.txt'),
      );
    }
  });

  it('leaves words of other languages whole', async () => {
    using index = await indexOf({
      'a.txt': 'The understanding of what they have written is not in the standing order, and under it nobody was.',
      'b.txt': 'A standing order is what the bank has for them, and it was under the desk of the officer.',
    });
    assert.deepEqual(
      index.search('understanding', 5).map(({ path }) => path),
      ['a.txt'],
    );
  });
});
