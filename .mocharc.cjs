const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

// This process, workers and the processes that tests start strip and compile each file once, not each anew.
process.env.NODE_COMPILE_CACHE ??= join(__dirname, 'node_modules', '.cache', 'compile');
enableCompileCache(process.env.NODE_COMPILE_CACHE);
const { patience } = require('./test/support/time-limit.ts');

module.exports = {
  extension: ['ts'],
  require: ['./test/support/shared-code.ts'],
  // A test that hangs says so; one that needs longer says why, with `patience` too.
  timeout: patience(10),
  slow: 3000,
  forbidOnly: true,
  exit: true,
};
