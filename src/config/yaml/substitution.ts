/** `$${` (a literal `${`), `${NAME}`, `${NAME:-default}`, or a `${` that is none of these. */
const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/** Text with its references replaced, and what could not be replaced. */
export interface Substitution {
  text: string;
  problems: string[];
}

/**
 * Replaces `${NAME}` and `${NAME:-default}` (used where NAME is unset or empty, as in a shell). What a variable holds
 * is taken as it is, not searched for further references.
 */
export function substitute(text: string, variables: Readonly<Record<string, string | undefined>>): Substitution {
  const problems: string[] = [];
  const replaced = text.replace(REFERENCE, (match: string, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      problems.push(`has a \${ that is not \${NAME} or \${NAME:-default}; write $\${ for a literal \${`);
      return match;
    }
    const value = variables[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) {
      problems.push(`needs the environment variable ${name}: set it, or give a default as in \${${name}:-value}`);
      return match;
    }
    return value;
  });
  return { text: replaced, problems };
}
