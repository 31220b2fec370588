/** What the tests see of each client. It names no package, so that it can be checked without them. */

/** Where a client finds the gateway. */
export interface Target {
  baseURL: string;
  apiKey: string;
  model: string;
}

/** An answer as a client read it. */
export interface Answer {
  text: string;
  /** Thoughts, where the client shows them. */
  reasoning?: string;
  /** URLs that the client shows as citations or sources. */
  sources: string[];
  /** Why it ended, in the client's own words. */
  finish: string | undefined;
  tokens: number;
  /** Messages of errors that the client reports without throwing. */
  errors: string[];
}

/** A turn of an agent. */
export interface AgentTurn {
  output: string;
  /** Types of the items that the next turn sends. */
  items: string[];
  responseId: string | undefined;
  tokens: number;
}

/** `agents.ts`. */
export interface AgentsClient {
  /** A conversation in which each turn sends all items so far. */
  conversation(target: Target, questions: readonly string[]): Promise<AgentTurn[]>;
  /** A conversation in which each turn names the last by its id. */
  chained(target: Target, questions: readonly string[]): Promise<AgentTurn[]>;
  /** A streamed run: the text as it came, and as it stood in the end. */
  streamed(target: Target, question: string): Promise<{ text: string; output: string }>;
  /** A run of an agent with the hosted web search, a tool that runs on the server. */
  withHostedSearch(target: Target, question: string): Promise<string>;
  /** A run of an agent with a function tool of its own. */
  withFunctionTool(target: Target, question: string): Promise<string>;
  /** A run that an agent with a function tool answers to whom another one hands it over, under a guardrail of its input. */
  withHandoff(
    target: Target,
    question: string,
  ): Promise<{ output: string; agent: string | undefined; guarded: string[] }>;
}

/** `langchain.ts`. */
export interface LangChainClient {
  /** Asks and waits; each further question sends the conversation so far. */
  invoke(target: LangChainTarget, questions: readonly string[]): Promise<Answer[]>;
  /** Asks and reads the stream: the text as it came, and the chunks as the client joins them. */
  stream(target: LangChainTarget, question: string): Promise<{ text: string; joined: Answer }>;
  /** Asks with a tool bound, runs what is called, and asks again. */
  withTool(target: LangChainTarget, question: string): Promise<Answer>;
}

export interface LangChainTarget extends Target {
  useResponsesApi: boolean;
}

/** `ai-sdk.ts`. */
export interface AiSdkClient {
  /** Asks with `streamText`; each further question sends the messages so far, as the SDK keeps them. */
  stream(target: AiSdkTarget, questions: readonly string[]): Promise<Answer[]>;
  /** Asks once with `generateText`. */
  generate(target: AiSdkTarget, question: string): Promise<Answer>;
  /** Asks with a tool, in as many steps as it takes, with `generateText` and with `streamText`. */
  withTool(target: AiSdkTarget, question: string): Promise<{ text: string; streamed: string }>;
  /** Asks for an object: with a tool, and without one with `generateObject`, where the version has it. */
  object(
    target: AiSdkTarget,
    question: string,
    options?: { readsTool?: boolean },
  ): Promise<{ withTool: unknown; alone: unknown }>;
}

export interface AiSdkTarget extends Target {
  api: 'responses' | 'chat';
  /** The `Accept` header; the SDK's own where absent. */
  accept?: string;
}

/** `llamaindex.ts`. */
export interface LlamaIndexClient {
  /** Asks and waits, then asks again and reads the stream. */
  chat(target: Target, question: string): Promise<{ text: string; streamed: string }>;
}

/** `instructor.ts`. */
export interface InstructorClient {
  /** The field `answer` of a structured answer. */
  extract(target: Target, mode: 'JSON' | 'JSON_SCHEMA' | 'MD_JSON', question: string): Promise<string>;
}
