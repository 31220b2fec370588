/** The environment variables that the gateway reads. `variables` supplies `${NAME}` in the configuration file. */
export interface Environment {
  variables: Readonly<Record<string, string | undefined>>;
  /** `GATEWAY_CONFIG`: path of the configuration file. */
  configFile: string | undefined;
  /** `HOST` and `PORT` override `server.host` and `server.port`. Not yet validated. */
  host: string | undefined;
  port: string | undefined;
  /** `GATEWAY_BASE_URL` and `GATEWAY_API_KEY`: where the terminal client connects, and with which key. */
  baseUrl: string | undefined;
  apiKey: string | undefined;
  /** `NO_COLOR` is set or `TERM` is `dumb`: no colours, and no lines that are rewritten in place. */
  plain: boolean;
}

/** Reads the environment; nothing else in the gateway does. An empty variable counts as absent. */
export function readEnvironment(variables: Environment['variables'] = process.env): Environment {
  return {
    variables,
    configFile: variables.GATEWAY_CONFIG || undefined,
    host: variables.HOST || undefined,
    port: variables.PORT || undefined,
    baseUrl: variables.GATEWAY_BASE_URL || undefined,
    apiKey: variables.GATEWAY_API_KEY || undefined,
    plain: Boolean(variables.NO_COLOR) || variables.TERM === 'dumb',
  };
}
