import assert from 'node:assert/strict';
import type { UrlCitation } from '../../../src/protocol/items.ts';
import { ClaimChecker } from '../../../src/research/claims/claim-checker.ts';
import { countClaims } from '../../../src/research/claims/count-claims.ts';
import { findQuote } from '../../../src/research/claims/find-quote.ts';
import { leavesOf } from '../../../src/research/claims/json-leaves.ts';
import { citeLeaves } from '../../../src/research/claims/leaf-sources.ts';
import { claimBefore, plainText, sentencesOf } from '../../../src/research/claims/sentences.ts';
import { findSupport, supportOfQuote } from '../../../src/research/claims/support.ts';
import { parseSentence } from '../../../src/research/claims/text/parse-sentence.ts';
import { SourceText } from '../../../src/research/claims/text/source-text.ts';
import { SourceRegistry } from '../../../src/research/run/sources.ts';
import type { ResearchState } from '../../../src/research/run/state.ts';
import { claimsOf } from '../../support/claims-of.ts';
import { growsTooFast, isSlow, ownMs } from '../../support/fair-time.ts';

const held = (sentence: string, passage: string) =>
  findSupport(parseSentence(sentence), SourceText.open({ title: '', text: passage }));
const MEDALS = '| Country | Gold medals | Silver medals |\n|---|---|---|\n| Japan | 20 | 12 |\n| Australia | 18 | 19 |';
const PUPILS =
  '- Norway: 214 schools, led by Vik\n- Denmark: 187 schools, led by Holm\n- Sweden: 96 schools, led by Berg';
const supportOf = (sentence: string, passage: string) => held(sentence, passage).support;

describe('a sentence checked against its source', () => {
  const same: [string, string][] = [
    ['The budget was 1.2 million euros.', 'The budget was 1,200,000 euros.'],
    ['Das Budget betrug 1,2 Millionen Euro.', 'Das Budget betrug 1.200.000 Euro.'],
    ['The span is 2.4 km.', 'The span is 2,400 metres.'],
    ['The town has about 48,000 people.', 'The town has 47,893 people.'],
    ['Die Quote lag bei 2,413 Prozent.', 'The rate was 2.413 percent.'],
    ['The war was over in May 1945.', 'The war ended in May 1945.'],
    ['Мощность станции — 1,2 ГВт.', 'Мощность станции — 1200 МВт.'],
    ['The "EU", founded in 1993, calls it the "AI Act".', 'Founded in 1993, the "EU" calls it the "AI Act".'],
    ['It took twelve days.', 'It took 12 days.'],
    ['Le budget était de 3 500 euros.', 'Le budget était de 3500 euros.'],
    ['The rate was 26 percent.', 'The rate was 26.3 percent.'],
    ['全长约55千米。', '全长55公里。'],
    ['人口は330万人。', '人口は3300000人。'],
    ['It opened on May 3, 1974.', 'It opened on 3 May 1974.'],
    ['Es wurde am 3.5.1974 eröffnet.', 'Es wurde am 3. Mai 1974 eröffnet.'],
    ['It opened in May 1974.', 'It opened on 3 May 1974.'],
    ['Sechs von zehn Haushalten haben eine.', '60 Prozent der Haushalte haben eine.'],
    ['25 Prozent der Kinder lesen schlecht.', 'Jedes vierte Kind liest schlecht.'],
    ['El metro cúbico cuesta 34 céntimos.', 'El metro cúbico cuesta 0,34 euros.'],
    ['Le coût était de 132 M€.', "Le coût était de 132 millions d'euros."],
    ['政府承担了60%的资金。', '政府承担了六成的资金。'],
    ['The delay was due to rain.', 'Rain was the cause of the delay.'],
    ['敦賀で乗り換えなければならない。', '敦賀での乗り換えが必要だ。'],
    ['The treaty was opposed by farmers.', 'Farmers opposed the treaty.'],
    ['Rund 1400 Tiere wurden verletzt.', '1.404 Tiere wurden verletzt.'],
    ['Two fifths of the homes are empty.', '40 % of the homes are empty.'],
    ['Irrigation quotas were cut by 50 percent.', 'Irrigation quotas were halved.'],
    ['資金の3分の2は市が負担した。', '資金の67%は市が負担した。'],
    ['About a third of the 1,940 employees work abroad.', 'Of 1,940 employees, 610 work abroad.'],
    ['Costs rose by 121 million euros.', 'Costs rose from 210 million euros to 331 million euros.'],
    ['The rate fell by three percentage points.', 'The rate fell from 33% to 30%.'],
    ['The ride takes 171 minutes.', 'The ride takes 2 hours 51 minutes.'],
    ['She bought the company in 2019.', 'She purchased the company in 2019.'],
    ['The large house burned down.', 'The big house burned down.'],
    ['The trial lasted eight months.', 'It was an eight-month trial.'],
    ['Cantons can shoot whole packs.', 'Cantons may shoot whole packs.'],
    ['One hundred and twenty-five people came.', '125 people came.'],
    ['Plus de deux cents oiseaux y nichent.', 'Plus de 200 oiseaux y nichent.'],
    ['Quatre-vingt-dix-sept maisons ont brûlé.', '97 maisons ont brûlé.'],
    ['Zweihundertfünfundzwanzig Menschen kamen.', '225 Menschen kamen.'],
    ['Hay trescientos veinte pisos en la torre.', 'Hay 320 pisos en la torre.'],
    ['Sono arrivate milleduecento persone.', 'Sono arrivate 1200 persone.'],
    ['Погибли двести тысяч человек.', 'Погибли 200 000 человек.'],
    ['The loan was two and a half million euros.', 'The loan was 2.5 million euros.'],
    ['Đây là thành phố lớn nhất Việt Nam, nằm ở phía nam.', 'Đây là thành phố lớn nhất Việt Nam, nằm ở phía nam.'],
    ['यह शहर 2.5 मिलियन लोगों का घर है।', 'पहले यह एक गाँव था। यह शहर 2.5 मिलियन लोगों का घर है। अब यह राजधानी है।'],
    ['1925 | 340', 'It employed 340 people in 1925.'],
    ['12 | 340', 'Of its 12 mills 340 people lived.'],
    ['In 1925, 340 people worked there.', 'In 1925 340 people worked there.'],
    ['Japan won 20 gold medals, Australia 18.', MEDALS],
    ['Japan won 12 silver medals and 20 gold ones.', MEDALS],
    ['Australia has more silver medals than Japan, 19 against 12.', MEDALS],
    ['Sales rose by 3 % in Q3 2024.', 'In the third quarter of 2024 sales rose by 3 %.'],
    ['Im zweiten Quartal 2024 sank der Absatz.', 'Im Q2 2024 sank der Absatz.'],
    ['The lamp costs US$1,099.', 'The lamp costs $1,099.'],
    ['The Vena 15 runs for 17 hours.', '| Model | Runs |\n|---|---|\n| Vena 13 | 14 h |\n| Vena 15 | 17 h |'],
    ['Small firms do not have to report.', 'Small firms are exempt from having to report.'],
    ['The lake holds 84 µg/L of lead.', 'The lake holds 84 µg/l of lead.'],
    ['He said that it was “slow but steady work”.', 'It was slow, but steady work, he said of it.'],
    ['Denmark has 187 schools.', PUPILS],
    ['Falls were 24 % rarer (hazard ratio 0.76).', 'After 3.4 years falls were 24 % rarer (hazard ratio 0.76).'],
    ['CFO Ada Brand leaves in March.', 'Chief financial officer Ada Brand leaves in March.'],
    ['| Quill | 14 ms | 0.97 |', '| Name | p95 (ms) | Recall |\n|---|---|---|\n| Quill | 14 | 0.97 |'],
    ['The walk takes half an hour.', 'The walk takes 30 minutes.'],
    ['Half a million people came.', '512,000 people came.'],
    ['Das Verfahren dauerte ein halbes Jahr.', 'Das Verfahren dauerte sechs Monate.'],
    ['Le trajet dure une demi-heure.', 'Le trajet dure 30 minutes.'],
    ['El museo costó medio millón de euros.', 'El museo costó 500.000 euros.'],
    ['水电站的建设推迟了六个月。', '水电站的建设推迟了半年。'],
    ['水电站的装机容量为4.5万千瓦。', '水电站的装机容量为45兆瓦。'],
    ['“It lasted two years”, says Ada M. Brand of Orvane.', '“It lasted two years”, says Ada Brand of Orvane.'],
    ['The trial at the clinic lasted 24 months.', 'The trial at the clinic lasted two years.'],
    ['COVID-19 spread in winter.', 'The coronavirus spread in winter; COVID was feared.'],
    ['Nearly a third of the coral died.', 'About 30 % of the coral died.'],
    ['In 2023 the lake had 403 pairs of storks.', 'The lake had 412 pairs of storks in 2024, 9 more than in 2023.'],
    ['Both mills, the two oldest, were built in 1972.', 'The oldest mills, Ahle and Orr, were built in 1972.'],
    ['The mill was closed for 18 months.', 'The mill was closed on 8 May 2016. It opened again on 2 November 2017.'],
    ['Davor waren 23 Prozent der Wärme erneuerbar.', 'Der erneuerbare Anteil der Wärme stieg von 23 auf 31 Prozent.'],
    ['Le traitement a duré 18 mois.', 'Le traitement a duré dix-huit mois.'],
    ['Les salles dépassent 5 400 mètres carrés.', 'Les salles ont 5 450 mètres carrés.'],
    ['The minister expects a slow recovery.', 'A slow recovery is expected by the prime minister.'],
    ['The museum warned of long queues.', 'Long queues form. “Come early”, the museum warned.'],
    ['The lake was a bargain, said Adeyemi.', '“The lake was a bargain. We saved a lot,” Adeyemi said.'],
    ['Thanks to rain the reservoirs are full.', 'The reservoirs are full because it rained.'],
    ['The ferry stopped because of fog.', 'The ferry stopped at noon. The reason was the fog.'],
    ['Wegen Nebels fiel die Fähre aus.', 'Die Fähre fiel aus. Es herrschte dichter Nebel.'],
    ['It was about 21 °F on average.', 'The average was −6.2 °C.'],
    ['電力消費はおよそ3万キロワットだ。', '電力消費は約30メガワットだ。'],
    ['Der Lohn steigt um 4,5 und 2,8 Prozent.', 'Der Lohn steigt um 4,5 %, später um weitere 2,8 %.'],
    ['Sales shrank by 8.5 %.', 'Sales shrank from 5.31 to 4.86 billion euros.'],
    ['El coste superó los 5000 euros.', 'El coste fue de 5250 euros.'],
    ['Le pont mesure près de 2,5 km.', 'Le pont franchit une vallée. Long de 2 460 mètres, il est en acier.'],
    ['Мощность около 100 МВт.', 'Мощность 103 МВт.'],
    ['Жюри допускает повышение налога.', 'Жюри рассматривает повышение налога.'],
    [
      'Sales were 41 million in 2023, up from 38 million in 2022.',
      'Sales were up from 38 million in 2022 to 41 million in 2023.',
    ],
  ];
  for (const [sentence, passage] of same) {
    it(`is supported: “${sentence}” by “${passage}”`, () => {
      assert.equal(supportOf(sentence, passage), 'quoted');
    });
  }

  for (const text of [
    'Sleep quality did not differ between the groups. Side effects were reported by 6.5% of the melatonin group.',
    'La producción cayó un 41% en la campaña 2022-2023, hasta 283.000 toneladas. El precio subió de 3,50 a 7,20 euros.',
  ])
    it(`is supported by itself: “${text.slice(0, 30)}…”`, () => {
      assert.equal(supportOf(text, text), 'quoted');
    });

  const other: [string, string][] = [
    ['About 508 million years ago it died out.', 'About 505 million years ago it died out.'],
    ['Up to 33 % of the girls in the region work.', 'Up to 30 % of the girls in the region work.'],
    ['Nehirde 30 milyar balık yaşıyor olabilir.', 'Nehirde 30 milyon balık yaşıyor olabilir.'],
    ['The winds fell to 180 miles/h before dawn.', 'The winds fell to 180 km/h before dawn.'],
    ['The port lies north of the old town and its walls.', 'The port lies south of the old town and its walls.'],
    ['La ville fut prise avant la mort du roi.', 'La ville fut prise après la mort du roi.'],
    ['Это второй по величине порт в стране.', 'Это первый по величине порт в стране.'],
    ['该市位于河流北部的山区之中。', '该市位于河流南部的山区之中。'],
    ['One hundred and twenty people came.', '125 people came.'],
    ['In 2021 it had 40 rooms, in 2022 it had 70.', 'In 2021 it had 70 rooms, in 2022 it had 40.'],
    ['2018 1,204,000', 'In 2019 it had 1,204,000 visitors, 3% fewer than in 2018.'],
    ['The budget was 1.2 billion euros.', 'The budget was 1.2 million euros.'],
    ['The span is 2,400 feet.', 'The span is 2,400 metres.'],
    ['The span is 2,400 km.', 'The span is 2.4 km.'],
    ['The span is 2.4 km.', 'The span is 2,400 km.'],
    ['The town has exactly 48,000 people.', 'The town has 47,893 people.'],
    ['Costs rose by 131 million euros.', 'Costs rose from 210 million euros to 331 million euros.'],
    ['Two thirds of the 1,940 employees work abroad.', 'Of 1,940 employees, 610 work abroad.'],
    ['It opened on 3 June 1974.', 'It opened on 3 May 1974.'],
    ['It opened on 3 May 1974.', 'It opened in May 1974.'],
    ['Sales rose 4 percent.', 'Sales fell 4 percent.'],
    ['The plant will not close.', 'The plant will close.'],
    ['The plant was closed in 2020.', 'The plant may be closed in 2020.'],
    ['All members voted for the plan.', 'Some members voted for the plan.'],
    ['Toute la ligne est électrifiée.', 'La ligne est électrifiée de Lange à Maroise.'],
    ['The bridge was designed by Ada Brand.', 'The bridge was designed by Otto Klein.'],
    ['The plant handles 125,000 kilograms a year.', 'The plant handles 125,000 tonnes a year.'],
    ['È prevista una pausa di tre giorni.', 'È prevista una pausa di tre settimane.'],
    ['1894年から約14年の間に発表した。', '1894年から約14か月の間に発表した。'],
    ['Die Fahrzeit ändert sich von 25 auf 80 Minuten.', 'Die Fahrzeit ändert sich von 80 auf 25 Minuten.'],
    ['Torrini buys its rival Hartwig.', 'Hartwig buys its rival Torrini.'],
    ['Girls read worse than boys, by 15 points.', 'Boys read worse than girls, by 15 points.'],
    [
      '39 % showed bleaching and 73 % were severely affected.',
      '73 % showed bleaching and 39 % were severely affected.',
    ],
    ['Electric cars have 36 % of the market.', 'Electric cars have 4 % of the market, while hybrids rise to 36 %.'],
    ['国土交通省の調査によると、空き家は900万戸である。', '総務省の調査によると、空き家は900万戸である。'],
    ['海外业务受到关税影响。', '海外业务未受到关税影响。'],
    ['The board ruled out job cuts.', 'The board did not rule out job cuts.'],
    ['The mayor is Ada Pell4.', 'The mayor is Ada Pell3.'],
    ['Sector12 was closed.', 'Sector13 was closed.'],
    ['يبلغ ارتفاع البرج 828 قدما.', 'يبلغ ارتفاع البرج في دبي 828 مترا، وهو أعلى مبنى.'],
    ['Площадь озера 31 722 га.', 'Площадь озера Байкал 31 722 кв. км без островов.'],
    [
      'Die Muschel breitet sich im See nicht mehr aus.',
      'Seit 2016 breitet sich dort im See die Muschel aus, die Rohre zusetzt.',
    ],
    [
      'Bees do not dance for food nearer than 50 metres.',
      'For food nearer than 50 metres bees dance in a circle instead.',
    ],
    ['Japan won 18 gold medals.', MEDALS],
    ['Norway has 187 schools.', PUPILS],
    ['The lake holds 84 mg/L of lead.', 'The lake holds 84 µg/L of lead.'],
    ['تبلغ قدرة المحطة 450 كيلوواط.', 'تبلغ قدرة المحطة 450 ميغاواط.'],
    ['Станция даёт 24 МВт тепла.', 'Станция даёт 24 МВт·ч тепла.'],
    ['Store the vials at 20 °C at all times.', 'Store the vials at −20 °C at all times.'],
    ['The store opens at 5 pm daily.', 'The store opens at 5 am daily.'],
    ['Twenty people were killed in the fire.', 'Twenty people were injured in the fire.'],
    ['Unemployment fell to 5 percent.', 'Unemployment fell by 5 percent.'],
    ['The drug is safe for children.', 'The drug is unsafe for children.'],
    ['The hospital was opened in 2019.', 'The hospital was closed in 2019.'],
    ['Das Werk wurde 2019 gekauft.', 'Das Werk wurde 2019 verkauft.'],
    ['Exports exceeded imports in 2019.', 'Imports exceeded exports in 2019.'],
    ['He said that World War I ended there.', 'He said that World War II ended there.'],
    ['Type I diabetes is rare there.', 'Type II diabetes is rare there.'],
    ['The gene TP5 was found by him.', 'The gene TP53 was found by him.'],
    ['Flight LH40 left at noon.', 'Flight LH400 left at noon.'],
    ['The company GDP was founded in 1990.', 'The company GDPR was founded in 1990.'],
    ['He was born in Paris in 1950.', 'He was born in Parish in 1950.'],
    ['Growth was 2.3 percent in 2020.', 'Growth was −2.3 percent in 2020.'],
    ['Growth was -2.3 percent in 2020.', 'Growth was 2.3 percent in 2020.'],
    ['The balance of the year was 5 million euros.', 'The balance of the year was -€5 million.'],
    ['The zone has 12 square kilometres.', 'The zone has 11.8 µg/m³ of fine dust.'],
    [
      'The low-emission zone was introduced in 2015.',
      'Dust fell from 2015 on. The low-emission zone was introduced later, in 2019.',
    ],
    ['The call takes 14 seconds.', 'The call takes 14 ms.'],
    ['Oil costs 8.24 euros per litre.', 'Oil costs 8.24 euros per kilo.'],
    ['The fee is 4,100 crowns a month.', 'The fee is 4,100 crowns a week.'],
    ['The limit is at most 70 % of the weight.', 'The limit is at least 70 % of the weight.'],
    ['Das teilte die Firma am Freitag in Augsburg mit.', 'Das teilte die Firma am Mittwoch in Augsburg mit.'],
    ['Catches have more than tripled since 2010.', 'Catches have more than doubled since 2010.'],
    ['They met a month after the vote in Oslo.', 'They met a week after the vote in Oslo.'],
    ['The new type checker is on by default.', 'The new type checker is off by default.'],
    ['As vendas subiram 4 por cento.', 'As vendas caíram 4 por cento.'],
    ['It has nine fewer nests than the year before.', 'It has nine more nests than the year before.'],
    ['She announced a coalition with the League.', 'She ruled out a coalition with the League.'],
    ['Severe falls occurred in the ZN-20 group.', 'Rashes were seen in the ZN-20 group. No severe falls occurred.'],
    ['La marge est passée de 8,1 % à 9,4 %.', "La marge s'établit à 8,1 %, contre 9,4 % un an plus tôt."],
    ['Italy has 56 cheeses, one more than France.', 'France has 56 cheeses, Italy 55 and Spain 29.'],
    ['Ranna will buy 34 trains from Alstad.', 'Ranna will buy 34 trains from Stadler for a third. Alstad bid, too.'],
    ['She called it “a bold and clear plan for all”.', 'She called it “a bold but vague plan for all”.'],
    ['Half a billion people came.', 'Half a million people came.'],
    ['生徒は20時間の昼寝をした。', '生徒は20分の昼寝をした。'],
    [
      'Ada Klein leads the trial in Orvane.',
      'Ada Brand leads the trial in Orvane. The ethics board with Otto Klein agrees.',
    ],
    ['Otto Klein sagte, man spare bald Geld.', 'Otto Klein schwieg. „Wir sparen bald Geld“, sagte Ada Brand.'],
    ['Japan won 20 gold medals and Australia 20.', MEDALS],
    ['Nearly a third of the coral died.', 'About 22 % of the coral died.'],
    ['In 2023 the lake had 407 pairs of storks.', 'The lake had 412 pairs of storks in 2024, 9 more than in 2023.'],
    ['Three oldest mills were built in 1972.', 'The two oldest mills were built in 1972.'],
    ['The mill was closed for 28 months.', 'The mill was closed on 8 May 2016. It opened again on 2 November 2017.'],
    ['The mill was closed for 90 days.', 'The mill was closed in 2016. It opened again in 2017.'],
    ['The plots measured 30 feet.', 'We compared three crops on plots of 12 m.'],
    [
      'The union blames the strike for the decline.',
      'The port blames the strike for the decline. The union denies it.',
    ],
    ['The lake was a bargain, said Adeyemi.', 'Adeyemi was silent. The lake was a bargain, said Calloway.'],
    ['The lake was drained because of floods, not now.', 'The lake was drained because of frost. There were floods.'],
    ['Adeyemi said that it was a bargain.', 'Adeyemi was silent. It was a bargain, said Calloway.'],
    [
      'El sindicato atribuye el retraso a la huelga.',
      'La empresa atribuye el retraso a la huelga. El sindicato calla.',
    ],
    ['江口社長は、観察が必要だとしている。', '江口社長は黙っていた。西園寺教授は、観察が必要だとしている。'],
    ['The ferry stopped because of a strike.', 'The ferry stopped at noon because of dense fog.'],
    ['The ferry stopped because of a strike.', 'The ferry stopped at noon. It was cold.'],
    ['A strike led to the end of the ferry.', 'The strike is over. Dense fog led to the end of the ferry.'],
    ['Wegen Streiks fiel die Fähre aus.', 'Wegen Nebels fiel die Fähre aus.'],
    ['Block 1 wurde wegen eines Störfalls abgeschaltet.', 'Block 1 wurde im August endgültig abgeschaltet.'],
    ['La vitesse est limitée à cause du vent.', 'La vitesse est limitée depuis 2005, pour éviter les bouchons.'],
    ['El puerto cerró por una huelga.', 'Una sequía obligó a que el puerto cerrara.'],
    ['It was 86 °F at noon.', 'It was 20 °C at noon.'],
    ['It was 36 °F at noon.', 'It was 20 °C at noon.'],
    ['总投资约1269亿港元。', '总投资约1269亿元人民币。'],
    ['Добыча выросла за год.', 'Добыча сократилась за год.'],
    ['Пропускная способность выросла.', 'Пропускная способность может вырасти.'],
    ['Весь экспорт идёт по морю.', 'Около 30 % экспорта идёт по морю.'],
    ['موّل الاتحاد التكلفة كلها.', 'موّل الاتحاد ثلث التكلفة.'],
    ['Die Stadt trug die gesamten Kosten.', 'Die Stadt trug den größten Teil der Kosten.'],
    ['انخفضت حركة السيارات في المدينة.', 'قد تنخفض حركة السيارات في المدينة.'],
    ['The council approved the plan.', 'The plan is subject to approval by the council.'],
    ['由于台风，工程推迟了两年。', '由于资金不足，工程推迟了两年。'],
    ['Japan won 12 gold medals.', MEDALS],
    [
      'Tokio hat 9,7 Millionen Einwohner und Osaka 2191 km².',
      '| Stadt | Einwohner (Mio.) | Fläche |\n|---|---|---|\n| Osaka | 2,7 | 225 km² |\n| Tokio | 9,7 | 2191 km² |',
    ],
  ];
  for (const [sentence, passage] of other) {
    it(`is doubted: “${sentence}” by “${passage}”`, () => {
      assert.equal(supportOf(sentence, passage), 'partial');
    });
  }

  const denied = [
    ['Some modules were affected by the change.', 'Some modules were not affected by the change.'],
    ['Some modules were not affected by the change.', 'Some modules were affected by the change.'],
    ['Neubauten sind von der Regelung betroffen.', 'Neubauten sind von der Regelung nicht betroffen.'],
    ['海外业务受到关税影响。', '海外业务未受到关税影响。'],
  ] as const;
  for (const [sentence, passage] of denied) {
    it(`is doubted: “${sentence}” if a model quotes “${passage}”`, () => {
      const source = SourceText.open({ title: '', text: passage });
      assert.equal(supportOfQuote(parseSentence(sentence), passage, source), 'partial');
    });
  }

  const vouched = [
    ['It opened on 14 October.', 'It was found on 11 October; it opened three days later.', 'quoted'],
    ['It opened on 14 October.', 'It was found on 11 October; it opened on the 12th.', 'partial'],
    ['There were 5.8 million trips.', '| Trips (million) | Bikes |\n|---|---|\n| 5.8 | 6,100 |', 'quoted'],
    ['There were 5.2 million trips.', '| Trips (million) | Bikes |\n|---|---|\n| 5.8 | 6,100 |', 'partial'],
    [
      '2023 kamen 1.284 Haushalte hinzu.',
      'Im vergangenen Jahr kamen 1.284 Haushalte hinzu, seit 2019 ein Drittel mehr.',
      'quoted',
    ],
    ['四号线于2023年12月27日开通。', '（2023年12月28日）四号线昨日开通。', 'quoted'],
    ['The halls now exceed 5,400 square metres.', 'The halls grew from 3,100 to 5,450 m².', 'quoted'],
    ['The halls now exceed 5,400 square metres.', 'The halls grew from 3,100 to 4,950 m².', 'partial'],
  ] as const;
  for (const [sentence, passage, support] of vouched) {
    it(`is ${support}: “${sentence}” if a model quotes “${passage}”`, () => {
      const source = SourceText.open({ title: '', text: passage });
      assert.equal(supportOfQuote(parseSentence(sentence), passage, source), support);
    });
  }

  it('may leave out the firm or person that its source is about', () => {
    const source = {
      title: 'Orvane',
      text: 'Orvane was founded in 1990. The firm expects slow sales.',
    };
    assert.equal(findSupport(parseSentence('Orvane expects slow sales.'), SourceText.open(source)).support, 'quoted');
  });

  it('has no support in a source about something else', () => {
    assert.equal(supportOf('The treaty was signed in Lisbon.', 'Tea grows best in the shade.'), 'none');
  });

  it('may be one character, no sentence, or one sentence without an end', () => {
    for (const text of [
      '',
      '.',
      '。'.repeat(500),
      'a'.repeat(5000),
      '1 '.repeat(5000),
      '\n'.repeat(2000),
      '|'.repeat(900),
    ]) {
      assert.equal(supportOf('The treaty was signed in 1999.', text), 'none', text.slice(0, 5));
      assert.doesNotThrow(() => held(text, 'The treaty was signed in 1999.'));
    }
  });
});

describe('a hostile source', () => {
  const size = 400_000;
  const fill = (text: string) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const hostile = {
    digits: fill('123456789 '),
    'digits without an end': fill('7'),
    'groups of digits': fill('1,234,'),
    'letters from the right': fill('ארוחת הבוקר עלתה 12 שקלים. هذا النص طويل '),
    emoji: fill('😀👨‍👩‍👧12'),
    commas: fill('A b, '),
    negations: fill('not no ne pas 不是没有三百万，'),
    'number words': fill('half of twenty-one in ten '),
    brackets: fill('[1] ['),
    'rows of a table': fill('| A | 1 |\n'),
  };
  for (const [name, text] of Object.entries(hostile)) {
    it(`of ${name} gives a quote of whole characters, 400 at most`, () => {
      const source = SourceText.open({ title: name, text });
      for (const claim of ['The treaty cost 12 million in May 2020.', text.slice(0, 1200)]) {
        const { passage } = findSupport(parseSentence(claim), source);
        const cited = passage ? source.text.slice(passage.start, passage.end) : '';
        assert.ok(cited.length <= 400 && text.includes(cited) && cited.isWellFormed(), `${cited.length}`);
      }
    });
  }
});

describe('a hostile claim', () => {
  const sentences = Array.from(
    { length: 6000 },
    (_, n) => `Sentence ${n} of Hamlet speaks about nothing in particular.`,
  );
  const page = SourceText.open({ title: 'Hamlet', text: sentences.join(' ') });
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  const named = letters.flatMap((a) => letters.map((b) => `Qx${a}${b}`)).slice(0, 230);

  it('is judged quickly with as many names as it can hold', () => {
    const claim = `Hamlet ${named.join(' ')}`;
    const ms = ownMs(() => findSupport(parseSentence(claim), page));
    assert.ok(!isSlow(ms, 100), `${ms} ms`);
  });

  it('is judged quickly against a title as long as a text', () => {
    const source = SourceText.open({ title: 'Anna 12 '.repeat(20_000), text: 'The tower rose.' });
    const ms = ownMs(() => findSupport(parseSentence('The tower rose in 2012.'), source));
    assert.ok(!isSlow(ms, 100), `${ms} ms`);
  });

  it('gets no quote from junk, and one quickly in a text that repeats itself', () => {
    const claim = parseSentence('Hamlet speaks.');
    const zeros = SourceText.open({ title: '', text: '0 '.repeat(200_000) });
    for (const words of ['東'.repeat(5_000_000), '…'.repeat(1_000_000), ' '.repeat(5_000_000)])
      assert.equal(findQuote(claim, words, page), undefined);
    let found: string | undefined = '';
    const ms = ownMs(() => (found = findQuote(claim, `${'0 '.repeat(599)}b`, zeros)));
    assert.ok(!isSlow(ms, 200), `${ms} ms`);
    assert.match(found ?? '', /^[0 ]{1,400}$/);
    assert.equal(findQuote(claim, '“Sentence 5999 of Hamlet … particular.”', page), sentences[5999]);
  });

  it('gets a quote across the heading and the rows of a table', () => {
    const rows = ['Japan | 20', 'Australia | 18', 'Norway | 11', 'Chad | 2'].map((row) => `| ${row} |`);
    const table = ['| Country | Gold medals |', '|:---|---:|', ...rows].join('\n');
    const source = SourceText.open({ title: '', text: `Before it.\n\n${table}\n\nAfter it.` });
    assert.match(findQuote(parseSentence('Norway won 11 gold medals.'), table, source) ?? '', /^Country .* 2$/s);
  });
});

describe('cited_text', () => {
  it('stands in one text that was shown, whatever surrounds it', async () => {
    const parts = [
      'The tower is 212 metres tall.\r\nIt was finished in **1911** by [Ada Brand](https://a.example/(x)).',
      'ה‏מגדל גובהו 212 מטרים‎. البرج ارتفاعه 212 مترا.',
      'Café Töwer: 1 204 000 visi­tors, 3 % few​er.',
      '| Year | Visitors |\n|---|---|\n| 2019 | 1 204 000 |',
      `\`\`\`\nThe tower is 212 metres tall.\n\`\`\`\n👨‍👩‍👧 The lift is not open. ${'Ada Brand designed it, '.repeat(30)}`,
      '塔高212米。1911年完工。',
      'The bridge is 96 metres long.',
      'It was opened in 1923.',
    ];
    const claims = [
      'The bridge is 96 metres long and was opened in 1923.',
      'The tower is 212 metres tall and was finished in 1911.',
      'It had 1,204,000 visitors in 2019.',
      '塔高212米。',
    ];
    for (let turn = 0; turn < parts.length; turn++) {
      const shown = [...parts.slice(turn), ...parts.slice(0, turn)];
      const sources = new SourceRegistry();
      const [source] = sources.add([{ url: 'https://a.example/', title: 'Tower', snippet: '', kind: 'read' }]);
      assert.ok(source);
      const results: ResearchState['results'] = new Map(
        shown.map((content, at) => {
          const result = JSON.stringify({ source_id: source.id, content });
          return [at, { t: 'result', call: at, status: 'completed', result, sources: [source], queries: 0 }];
        }),
      );
      const checker = await ClaimChecker.of({ results, calls: new Map() });
      for (const claim of claims) {
        const { cited_text: cited } = checker.check(claim, source);
        assert.ok(cited !== null && cited.length <= 400 && cited.isWellFormed(), claim);
        assert.ok(
          shown.some((text) => text.includes(cited)),
          cited,
        );
      }
    }
  });
});

describe('the claim of a marker', () => {
  const claims: [string, string][] = [
    ['It rains. The tower is 330 m tall ', 'The tower is 330 m tall'],
    ['It rains. The tower is 330 m tall. ', 'The tower is 330 m tall.'],
    ['The tower is 330 m tall [1][2] ', 'The tower is 330 m tall'],
    ['Paris has 2 million people [1], and Lyon has 500,000 ', 'and Lyon has 500,000'],
    ['They met in Graz [1], Linz ', 'They met in Linz'],
    ['They met in Graz [1], Linz [2] and New York ', 'They met in New York'],
    ['# Towers\n\n- The tower is **330 m** tall ', 'The tower is 330 m tall'],
    ['| Tower | 330 m | ', 'Tower | 330 m'],
    ['| 1925 | 340 ', '1925 | 340'],
    ['塔高330米。城市很大', '城市很大'],
    ['', ''],
  ];
  for (const [text, claim] of claims) {
    it(`after “${text.trim()}” is “${claim}”`, () => assert.equal(claimBefore(text), claim));
  }

  it('is one of the sentences of an answer, which leave out only headings and code', () => {
    const text = '# Title\n\nOne is 1. [1] Two, e.g. 2.5, is 2 [2].\n\n```\ncode 7.\n```\n- Three';
    assert.deepEqual(
      [...sentencesOf(text)].map(({ start, end }) => text.slice(start, end).trim()),
      ['One is 1. [1]', 'Two, e.g. 2.5, is 2 [2].', '- Three'],
    );
  });
});

describe('a sentence of an answer', () => {
  for (const gap of [' ', '|']) {
    it(`is read in linear time with a gap of many “${gap}”`, () => {
      const grows = growsTooFast((share) => {
        const sentence = `In 1999${gap.repeat(20_000 * share)}it rained`;
        return () => plainText(sentence);
      });
      assert.ok(!grows);
    });
  }
});

describe('the values of a structured answer', () => {
  it('have the markers inside them, and no others', async () => {
    const { claims, sources } = await claimsOf('Nothing.');
    const json = '{"a [1]":"x [1]","b":"y"}';
    const mark = (start_index: number): UrlCitation => ({
      ...{ type: 'url_citation', start_index, end_index: start_index + 3, url: 'https://a.example/', title: 'A' },
      ...{ index: 1, source_id: 1, verified: true, cited_text: null, support: 'unchecked' },
    });
    const marked = [json.lastIndexOf('[1]'), json.indexOf('[1]')].map(mark);
    const cited = await citeLeaves(json, { marked, claims, sources });
    assert.deepEqual(
      cited.map(({ start_index: start, path }) => [start, path]),
      [[json.lastIndexOf('[1]'), '/a [1]']],
    );
  });

  it('match only sources of their own year', async () => {
    const { claims, sources } = await claimsOf('In 2019 it had 1,204,000 visitors, 3% fewer than in 2018.');
    const cited = await citeLeaves('{"visitors":{"2018":1204000,"2019":1204000}}', { marked: [], claims, sources });
    assert.deepEqual(
      cited.map(({ path }) => path),
      ['/visitors/2019'],
    );
  });

  it('have the sign of their source, unless words stand for it', async () => {
    const { claims, sources } = await claimsOf(
      'The margin of 2019 was -4.1 %. Output fell by 2.3 %. Rent rose by 6 %.',
    );
    const pathsIn = async (json: string) =>
      (await citeLeaves(json, { marked: [], claims, sources })).map(({ path }) => path);
    assert.deepEqual(await pathsIn('{"margin":-4.1,"output":-2.3,"margin decline":4.1,"rent":6}'), [
      '/margin',
      '/output',
      '/margin decline',
      '/rent',
    ]);
    assert.deepEqual(await pathsIn('{"margin":4.1,"margin in %":"4.1 %","rent":-6,"year of the margin":-2019}'), []);
  });

  it('are about what stands beside them, unless they are names, and are not negated', async () => {
    const { claims, sources } = await claimsOf(
      'Shops are open on Sunday. The red cross came. The harbour is closed. He is not guilty of anything. Lima is large. ' +
        'The verdict: not guilty. The ferry is no longer electric. An iPhone 15 lay there.',
    );
    const pathsIn = async (json: string) =>
      (await citeLeaves(json, { marked: [], claims, sources })).map(({ path }) => path);
    for (const json of ['{"harbour":"open"}', '{"boat":"red"}', '{"verdict":"guilty"}', '{"ferry":"electric"}'])
      assert.deepEqual(await pathsIn(json), [], json);
    const json = '{"harbour":"closed","shops":"open","verdict":"not guilty","capital":"Lima","lost":"iPhone 15"}';
    assert.deepEqual(await pathsIn(json), ['/harbour', '/shops', '/verdict', '/capital', '/lost']);
  });

  it('are whole words and numbers of their source', async () => {
    const { claims, sources } = await claimsOf(
      'The floors of Annabelle were laid in 1942. The share of Berlins GDPR office was 14.1 %. Rooms: 7. Жители Петербурга.',
    );
    const pathsIn = async (json: string) =>
      (await citeLeaves(json, { marked: [], claims, sources })).map(({ path }) => path);
    const parts = { floors: '42', share: '4.1 %', name: 'Ann', office: 'GDP', 'floors of': 'belle', 'share of': '14' };
    assert.deepEqual(await pathsIn(JSON.stringify(parts)), []);
    const whole = {
      floors: '1942',
      share: '14.1 %',
      name: 'Annabelle',
      city: 'Berlin',
      rooms: '7',
      город: 'Петербург',
    };
    assert.deepEqual(
      await pathsIn(JSON.stringify(whole)),
      Object.keys(whole).map((name) => `/${name}`),
    );
  });

  it('are looked up in the sources, the first 2000 of them', async () => {
    const { claims, sources } = await claimsOf('The harbour is 7351 m wide.');
    const numbers = (before: number) => `{"harbour":[${'1,'.repeat(before)}7351]}`;
    const citedOf = async (json: string) => (await citeLeaves(json, { marked: [], claims, sources })).length;
    assert.deepEqual([await citedOf(numbers(1999)), await citedOf(numbers(2000))], [1, 0]);
  });

  it('are found with the digits that sources have more, or in another notation', async () => {
    const { claims, sources } = await claimsOf(
      'The rate was 25.8 percent. The depth is 0.05 m. The width is 1.204 million m. The length is 1 204 500,3 m.',
    );
    for (const value of ['{"rate":26}', '{"depth":0.05}', '{"width":1204000}', '{"length":1204500}']) {
      const cited = await citeLeaves(value, { marked: [], claims, sources });
      assert.equal(cited.length, 1, value);
    }
  });
});

describe('countClaims', () => {
  const cite = (start_index: number, support: 'quoted' | 'partial' | 'none' | 'unchecked') => ({
    type: 'url_citation' as const,
    start_index,
    end_index: start_index + 3,
    url: 'https://a.example/',
    title: 'A',
    index: 1,
    source_id: 1,
    verified: true,
    cited_text: null,
    support,
  });

  const TEXT = { isStructured: false };
  const STRUCTURED = { isStructured: true };

  it('leaves out table heads and code', async () => {
    const { unmarked } = await countClaims('| Year Built | Height In Metres |\n|---|---:|\n| 1911 | 212 |\n', [], TEXT);
    assert.equal(unmarked, 1);
    for (const code of [
      '~~~\nx = 1\n~~~\n',
      '````\n```\nx = 1\n````\n',
      '- So:\n  ```\n  x = 1\n  ```\n',
      '> ```\n> x = 1\n> ```\n',
    ])
      assert.equal((await countClaims(`${code}\nIn 1999 it was 5 m.`, [], TEXT)).unmarked, 1, code);
  });

  it('takes the best of several citations, and counts sentences with facts but no citation', async () => {
    const text = 'One is 1 [1] [2]. Two is 2 [3]. It was Ada Brand in 1999. Nothing is said here. Three [4].';
    const marks = [cite(9, 'none'), cite(13, 'quoted'), cite(27, 'partial'), cite(text.indexOf('[4]'), 'unchecked')];
    assert.deepEqual(await countClaims(text, marks, TEXT), {
      checked: 2,
      quoted: 1,
      partial: 1,
      none: 0,
      unchecked: 1,
      unmarked: 1,
    });
  });

  it('lists the values of a structured answer that no source supports', async () => {
    const json = '{"rows": [{"name": "Ada", "a/b": 12.5, "x~": null}]}';
    assert.deepEqual(
      [...leavesOf(json)].map(({ path, start, end }) => [path, json.slice(start, end)]),
      [
        ['/rows/0/name', 'Ada'],
        ['/rows/0/a~1b', '12.5'],
        ['/rows/0/x~0', 'null'],
      ],
    );
    const counts = await countClaims(json, [{ ...cite(20, 'quoted'), path: '/rows/0/name' }], STRUCTURED);
    assert.deepEqual(counts.unmarked_paths, ['/rows/0/a~1b', '/rows/0/x~0']);
    assert.deepEqual([counts.quoted, counts.unmarked], [1, 2]);
    const none = await countClaims(json, [], STRUCTURED);
    assert.deepEqual(none.unmarked_paths, ['/rows/0/name', '/rows/0/a~1b', '/rows/0/x~0']);
    assert.deepEqual((await countClaims('{}', [], STRUCTURED)).unmarked_paths, []);
  });

  it('counts all values of a structured answer, and names the first 1000 without a source', async () => {
    const counts = await countClaims(`[${'1,'.repeat(32_000)}1]`, [{ ...cite(2, 'quoted'), path: '/0' }], STRUCTURED);
    assert.deepEqual([counts.quoted, counts.unmarked, counts.unmarked_paths?.length], [1, 32_000, 1000]);
  });
});
