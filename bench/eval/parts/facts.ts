/** The one fact that the parts ask for, in the languages in which they do. `subject` is a place, `metres` a number. */
export interface FactLanguage {
  code: string;
  question(subject: string): string;
  fact(subject: string, metres: number): string;
  /** What one would look for in a long page. */
  find(subject: string): string;
  fillers: readonly string[];
  /** Made of these, so that they are alike. */
  names: { starts: readonly string[]; ends: readonly string[] };
}

const LATIN = {
  starts: 'Bel Cor Dar Fen Gal Hal Jor Kel'.split(' '),
  ends: 'bruck dale field holm mark stad'.split(' '),
};

export const ENGLISH: FactLanguage = {
  code: 'en',
  question: (subject) => `How high is the tower of ${subject}?`,
  fact: (subject, metres) => `The tower of ${subject} is ${metres} metres high.`,
  find: (subject) => `The tower of ${subject} is`,
  fillers: [
    'Visitors like the view over the river in the morning.',
    'A storm did much damage in those years, and many helped to repair it.',
    'Most of what is told about the council goes back to a school book.',
    'Nobody has counted the steps, though many claim to have done so.',
  ],
  names: LATIN,
};

export const OTHER_LANGUAGES: readonly FactLanguage[] = [
  {
    code: 'de',
    question: (subject) => `Wie hoch ist der Turm von ${subject}?`,
    fact: (subject, metres) => `Die Höhe des Turmes von ${subject} beträgt ${metres} Meter.`,
    find: (subject) => `Turmes von ${subject}`,
    fillers: ['Besucher mögen den Blick über den Fluss.', 'Ein Sturm richtete in jenen Jahren viel Schaden an.'],
    names: LATIN,
  },
  {
    code: 'fr',
    question: (subject) => `Quelle est la hauteur de la tour de ${subject} ?`,
    fact: (subject, metres) => `La tour de ${subject} mesure ${metres} mètres.`,
    find: (subject) => `tour de ${subject}`,
    fillers: ['Les visiteurs aiment la vue sur le fleuve.', 'Une tempête fit beaucoup de dégâts ces années-là.'],
    names: LATIN,
  },
  {
    code: 'ja',
    question: (subject) => `${subject}の塔の高さは何メートルですか？`,
    fact: (subject, metres) => `${subject}の塔の高さは${metres}メートルである。`,
    find: (subject) => `${subject}の塔`,
    fillers: ['訪れる人は川の眺めを好む。', 'その頃の嵐は大きな被害をもたらした。'],
    names: { starts: ['青', '白', '松', '浜', '霧', '藤'], ends: ['沢町', '原町', '崎町', '野町'] },
  },
  {
    code: 'zh',
    question: (subject) => `${subject}的塔有多高？`,
    fact: (subject, metres) => `${subject}的塔高${metres}米。`,
    find: (subject) => `${subject}的塔`,
    fillers: ['游客喜欢早晨的河景。', '那几年的风暴造成了很大的破坏。'],
    names: { starts: ['云', '石', '安', '江', '平', '柳'], ends: ['岭镇', '河镇', '泉镇', '湾镇'] },
  },
];

const MARK = '\u0001';

/** What is asked for, or undefined where it is none of these questions. */
export function askedIn(text: string): { language: FactLanguage; subject: string } | undefined {
  for (const language of [ENGLISH, ...OTHER_LANGUAGES]) {
    const subject = between(text, language.question(MARK));
    if (subject !== undefined) return { language, subject };
  }
  return undefined;
}

/** The number that a text tells of the subject. */
export function factIn(text: string, { language, subject }: { language: FactLanguage; subject: string }) {
  const [before = '', after = ''] = language.fact(subject, 7).split('7');
  const pattern = new RegExp(`${escaped(before)}(\\d+)${escaped(after)}`, 'u');
  return pattern.exec(text)?.[1];
}

/** What stands in `text` where `form` has the mark. */
function between(text: string, form: string): string | undefined {
  const [before = '', after = ''] = form.split(MARK).map(escaped);
  return new RegExp(`(?:^|\\n|>)${before}([^\\n]{1,60}?)${after}`, 'u').exec(text)?.[1];
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
