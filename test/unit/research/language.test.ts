import assert from 'node:assert/strict';
import { questionLanguage } from '../../../src/research/text/language.ts';

const QUESTIONS: [string, string][] = [
  ['What is the capital of Sweden?', 'English'],
  ['Wie wird ein abgebrochener Strom wieder aufgenommen und was passiert mit dem Lauf?', 'German'],
  ['Quelle est la différence entre un proxy et une passerelle ?', 'French'],
  ['¿Cuál es la capital de Suecia y por qué?', 'Spanish'],
  ['Qual é a capital da Suécia e por que?', 'Portuguese'],
  ['Wat is het verschil en waarom niet?', 'Dutch'],
  ['Jaki jest najdłuższy most w Polsce?', 'Polish'],
  ['Hva koster en varmepumpe?', 'Norwegian'],
  ['Mikä on Ruotsin pääkaupunki ja milloin se on perustettu?', 'Finnish'],
  ['Mi Svédország fővárosa és hol van?', 'Hungarian'],
  ['Cât costă o pompă de căldură și de ce?', 'Romanian'],
  ['Колко струва термопомпата и защо?', 'Bulgarian'],
  ['Скільки коштує насос і чому це так?', 'Ukrainian'],
  ['深度研究とは何ですか', 'Japanese'],
  ['什么是深度研究？', 'Chinese'],
  ['심층 연구란 무엇입니까?', 'Korean'],
  ['Что такое глубокое исследование?', 'Russian'],
  ['ما هو البحث العميق؟', 'Arabic'],
  ['מהו מחקר מעמיק?', 'Hebrew'],
  ['Τι είναι η έρευνα;', 'Greek'],
  ['गहन शोध क्या है?', 'Hindi'],
  ['การวิจัยเชิงลึกคืออะไร', 'Thai'],
];

describe('the language of a question', () => {
  for (const [question, language] of QUESTIONS)
    it(`is ${language}: ${question}`, () => {
      assert.equal(questionLanguage(question), language);
    });

  it('is found despite names in another script', () => {
    assert.equal(questionLanguage('What is 東京 known for in the world?'), 'English');
    assert.equal(questionLanguage('OpenAI API とは何ですか、教えてください'), 'Japanese');
  });

  it('is undefined if the text does not show it', () => {
    for (const text of ['', '42', 'Vasa 1932', '???']) assert.equal(questionLanguage(text), undefined);
  });
});
