#!/usr/bin/env node
'use strict';

// Runs the server's binary in this process's place, as far as Node can: with its streams, its signals and its exit code.
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { binaryPath } = require('./index.js');

const child = spawn(binaryPath(), process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`adjourn: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
