/** One problem of the configuration. The message names the fix, and never a value that may be a secret. */
export interface ConfigProblem {
  /** The path in the file, such as `models.gpt-5.routes[0].provider`; empty for the file as a whole. */
  path: string;
  /** 1-based position in the file, if known. */
  line?: number | undefined;
  column?: number | undefined;
  message: string;
}

/** A configuration that cannot be used, with all of its problems. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[], options?: ErrorOptions) {
    super(problems.map((problem) => formatProblem(file, problem)).join('\n'), options);
    this.file = file;
    this.problems = problems;
  }
}

/** `config/gateway.yaml:12:5 models.gpt-5: is missing ...`, in the form that editors make clickable. */
function formatProblem(file: string, problem: ConfigProblem): string {
  const position = problem.line === undefined ? ':' : `:${problem.line}:${problem.column ?? 1}`;
  const path = problem.path === '' ? '' : `${problem.path}: `;
  return `${file}${position} ${path}${problem.message}`;
}
