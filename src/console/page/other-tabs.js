/**
 * A new tab has an empty session storage, so it asks the console's other tabs for the key that they keep. The channel reaches
 * only this origin, whose pages can send requests with that key anyway.
 */
const CHANNEL = 'research-gateway-console';
/** Idle tabs answer at once: after this time the page asks for a key. In milliseconds. */
const WAIT_MS = 150;
/** How long the answer of a busy tab is waited for, in milliseconds. */
const LATE_MS = 10_000;

/** The key that another tab keeps, or null. `onLate` gets a key that comes after that. */
export function askOtherTabs(onLate) {
  const channel = new BroadcastChannel(CHANNEL);
  setTimeout(() => channel.close(), LATE_MS);
  return new Promise((resolve) => {
    let isLate = false;
    setTimeout(() => {
      isLate = true;
      resolve(null);
    }, WAIT_MS);
    channel.onmessage = ({ data }) => {
      if (typeof data?.key !== 'string') return;
      channel.close();
      if (isLate) onLate(data.key);
      else resolve(data.key);
    };
    channel.postMessage({ wanted: 'key' });
  });
}

/** Answers new tabs with the key of this one. */
export function answerOtherTabs(keptKey) {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => {
    const key = data?.wanted === 'key' ? keptKey() : null;
    if (key) channel.postMessage({ key });
  };
}
