/** Times of a socket, in milliseconds. */
export interface SocketTimes {
  /** Between two pings: who has not answered the last one is gone. */
  ping: number;
  /** How long one may be open. */
  most: number;
}

export const SOCKET_TIMES: SocketTimes = { ping: 30_000, most: 3_600_000 };
