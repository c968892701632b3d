#!/usr/bin/env node
// Starts the edge of this platform, which npm has installed as an optional dependency, with the arguments, streams and signals of its own.
'use strict';

const { spawn } = require('node:child_process');

const name = `@mcpedge/edge-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/mcpedge${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(
    `mcpedge: the package ${name} is missing. Either there is none for this platform, or it was left out: ` +
      'install mcpedge again without --omit=optional or --no-optional.',
  );
  process.exit(1);
}

const edge = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
for (const signal of signals) process.on(signal, () => edge.kill(signal));
edge.on('error', (error) => {
  console.error(`mcpedge: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
edge.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const own of signals) process.removeAllListeners(own);
  process.kill(process.pid, signal);
});
