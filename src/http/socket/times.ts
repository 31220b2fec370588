/** Time limits of a socket, in milliseconds. */
export interface SocketTimes {
  /** Between two pings: a client that has not answered the last one is disconnected. */
  ping: number;
  /** How long a socket may be open. */
  maxOpen: number;
}

export const SOCKET_TIMES: SocketTimes = { ping: 30_000, maxOpen: 3_600_000 };
