/** Entry of a confined process that says again and again that it has begun its job, and never ends it. */
process.on('message', () => setInterval(() => process.send?.('begun'), 10));
process.on('disconnect', () => process.exit(0));
process.send?.('started');
