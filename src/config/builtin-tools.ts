/** The tools that the gateway runs itself, by the names that models and `research.tools` use. */
export const BUILTIN_TOOLS = ['web_search', 'fetch_url_content', 'execute_python'] as const;
export type BuiltinTool = (typeof BUILTIN_TOOLS)[number];

/** Whether `name` is that of a built-in tool. */
export function isBuiltinTool(name: string): name is BuiltinTool {
  const names: readonly string[] = BUILTIN_TOOLS;
  return names.includes(name);
}
