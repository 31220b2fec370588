const { patience } = require('./test/support/time-limit.ts');

module.exports = {
  extension: ['ts'],
  // A test that hangs says so; one that needs longer says why, with `patience` too.
  timeout: patience(10),
  slow: 3000,
  forbidOnly: true,
  exit: true,
};
