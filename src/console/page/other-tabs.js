/**
 * A new tab has an empty session storage, so it asks the console's other tabs for the key that they keep. The channel reaches
 * only this origin, whose pages can send requests with that key anyway.
 */
const CHANNEL = 'research-gateway-console';
/** Tabs answer at once: without an answer in this time there are none. In milliseconds. */
const WAIT_MS = 150;

/** The key that another tab keeps, or null. */
export function askOtherTabs() {
  const channel = new BroadcastChannel(CHANNEL);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), WAIT_MS);
    channel.onmessage = ({ data }) => {
      if (typeof data?.key !== 'string') return;
      clearTimeout(timer);
      resolve(data.key);
    };
    channel.postMessage({ wanted: 'key' });
  }).finally(() => channel.close());
}

/** Answers new tabs with the key of this one. */
export function answerOtherTabs(keptKey) {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => {
    const key = data?.wanted === 'key' ? keptKey() : null;
    if (key) channel.postMessage({ key });
  };
}
