/** Look-behinds, placed after a full stop, for stops that end no sentence. They need the flag `u`. */

const ABBREVIATION =
  'Dr|Mr|Mrs|Ms|St|No|vs?|ca|etc|e\\.g|i\\.e|z\\.B|bzw|Nr|Mio|Mrd|Inc|Ltd|Corp|Co|al|approx|est|M|Mme|Sr|Sra|art|\\p{Lu}';
/** Words that may follow a German ordinal, which is written with a full stop. */
const COUNTED =
  'Jan|Feb|März|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrhundert|Jh|Platz|Auflage|Tag|Mal|Stock|Bezirk|Runde|Quartal|Geburtstag|\\p{Ll}';

export const NO_STOP = `(?<!\\b(?:${ABBREVIATION})\\.)(?<!\\b\\d{1,3}\\.(?=\\s(?:${COUNTED})))(?<!(?:^|\\n)[ \\t]*\\d{1,3}\\.)`;
