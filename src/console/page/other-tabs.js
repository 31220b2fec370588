/**
 * A link that is opened in a new tab finds an empty storage there: the tab asks the console's other tabs for the key that
 * they keep. A channel reaches this origin only, whose pages can send requests with that key anyway.
 */
const CHANNEL = 'research-gateway-console';
/** Tabs answer at once; where there are none, signing in waits no longer, in milliseconds. */
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
