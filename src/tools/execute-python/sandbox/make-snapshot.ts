/**
 * The program that makes the memory snapshot from which sandboxes start: of an interpreter that has loaded what the
 * driver needs and has run no user's code. It writes the bytes to its report descriptor.
 */
import { strict as assert } from 'node:assert';
import fs from 'node:fs';
import process from 'node:process';
import { prepareForPyodide } from './disarm.ts';
import { loadPython } from './load.ts';

const REPORT_FD = 3;
/** The imports of driver.py and of most code that models write. */
const PRELOADED =
  'import asyncio, collections, datetime, json, linecache, math, os, random, re, sys, traceback, pyodide.code';

const pyodideFolder = process.argv[2];
assert(pyodideFolder, 'the folder of pyodide is the first argument');
prepareForPyodide(process);
const python = await loadPython(pyodideFolder, { _makeSnapshot: true });
python.runPython(PRELOADED);
const bytes = python.makeMemorySnapshot();
for (let written = 0; written < bytes.length; ) written += fs.writeSync(REPORT_FD, bytes, written);
process.exit(0);
