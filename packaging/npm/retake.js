#!/usr/bin/env node
// Runs the program of this platform, which is a package of its own: npm installs the one that fits.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `retake-${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${name}/bin/retake`);
} catch {
  console.error(
    `retake: the package ${name} is not installed. There are packages for Linux and macOS on x64 and arm64, as optional ` +
      "dependencies; elsewhere build retake with cargo.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends ctrl-c to both: passed on, it would count twice.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`retake: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
