import type { YAMLError } from 'yaml';

/** A syntax error of a YAML file, with its fix. */
export interface YamlFault {
  /** The position in the text, in UTF-16 code units. */
  offset: number;
  message: string;
}

/** Messages for the usual mistakes. For others the parser's message is used, without what it quotes (`withoutQuote`). */
const FIXES: Partial<Record<YAMLError['code'], string>> = {
  DUPLICATE_KEY: 'this key stands here twice: remove one of the two',
  BLOCK_AS_IMPLICIT_KEY: 'put a value that holds ": " in quotes, or begin a new line after the first colon',
  MULTIPLE_DOCS: 'a second document begins here: remove the line ---, or all behind it',
  TAG_RESOLVE_FAILED:
    'has a tag that is not known here: remove the word that begins with !, or put the value in quotes',
  BAD_SCALAR_START: 'put a value that begins with this character in quotes',
};

/**
 * The syntax errors of a YAML file, without those that only follow from the first one: after it hardly anything is read
 * as it was meant. Repeated keys do not affect what follows.
 */
export function yamlFaults(text: string, errors: readonly YAMLError[]): YamlFault[] {
  const references = errors.map(({ pos }) => pos[0]).filter((at) => text[at] === '{' && text[at - 1] === '$');
  if (references.length > 0) {
    const message = `put a value with \${...} in quotes inside { } and [ ], such as "\${NAME:-default}"`;
    return references.map((at) => ({ offset: at - 1, message }));
  }
  const first = errors.findIndex(({ code }) => code !== 'DUPLICATE_KEY');
  const reported = first === -1 ? errors : errors.slice(0, first + 1);
  return reported.map((error) => ({ offset: error.pos[0], message: FIXES[error.code] ?? withoutQuote(error) }));
}

/** Cuts a message before its quote of the file, which may be a secret. */
function withoutQuote({ message }: YAMLError): string {
  const quoted = message.indexOf(': "');
  return quoted === -1 ? message : message.slice(0, quoted);
}
