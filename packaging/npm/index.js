// The library: checks and fixes what tool-calling agents send and record. The work is done by the module of this platform.
"use strict";

const name = `retake-${process.platform}-${process.arch}`;

let native;
try {
  native = require(process.env.RETAKE_NODE_MODULE || `${name}/retake.node`);
} catch (error) {
  throw new Error(
    `retake: the package ${name} cannot be loaded (${error.message}). There are packages for Linux and macOS on x64 and arm64, as ` +
      "optional dependencies.",
  );
}

/** What was given cannot be read, checked or fixed. */
class RetakeError extends Error {
  constructor(message) {
    const [, code, text] = /^(?:(ENOENT|EACCES): )?([^]*)$/.exec(message);
    super(text);
    this.name = "RetakeError";
    if (code) {
      this.code = code;
    }
  }
}

const call = (work) => {
  try {
    return work();
  } catch (error) {
    throw error?.code === "InvalidArg" ? new RetakeError(error.message) : error;
  }
};

const isText = (source) => source instanceof Uint8Array;

const bytes = (source) => {
  if (isText(source)) {
    return Buffer.from(source);
  }
  if (typeof source !== "object" || source === null) {
    throw new TypeError("give a text as a Buffer; a string is the name of a file, which `check` alone takes");
  }
  return Buffer.from(JSON.stringify(source));
};

const nativeOptions = ({ dialect, provider, tools, outputSchema, format } = {}, isRequest = false) => ({
  format,
  dialect: dialect ?? provider,
  tools: tools && JSON.stringify(tools),
  outputSchema: outputSchema && JSON.stringify(outputSchema),
  isRequest,
});

const problem = ({ is_unread: isUnread, ...rest }) => ({ ...rest, isUnread });

const finding = (session, { call_id: callId, ...rest }) => ({ session, callId, ...rest });

const session = ({ target: dialect, tools_known: toolsKnown, findings, problems, ...rest }) => ({
  ...rest,
  dialect,
  toolsKnown,
  findings: findings.map((one) => finding(rest.name, one)),
  problems: problems.map(problem),
});

const report = ({ tools_from: toolsFrom, sessions: given, problems: unplaced, ...rest }) => {
  const sessions = given.map(session);
  const findings = sessions.flatMap((one) => one.findings);
  const errors = findings.filter((one) => one.severity === "error");
  const problems = [...sessions.flatMap((one) => one.problems), ...unplaced.map(problem)];
  const isClean = errors.length === 0 && !problems.some((one) => one.isUnread);
  return { ...rest, toolsFrom, sessions, findings, errors, problems, isClean };
};

function check(source, options) {
  const native_ = nativeOptions(options);
  const found = call(() =>
    typeof source === "string" ? native.checkPath(source, native_) : native.checkBytes(bytes(source), native_),
  );
  return report(JSON.parse(found));
}

function willAccept(request, options = {}) {
  const { model } = options;
  if (model !== undefined && (isText(request) || Array.isArray(request))) {
    throw new TypeError("`model` needs the request as an object; a list of messages does not name one");
  }
  const body = model === undefined ? request : { model, ...request };
  const found = report(JSON.parse(call(() => native.checkBytes(bytes(body), nativeOptions(options, true)))));
  return { isAccepted: found.isClean, findings: found.findings, report: found };
}

function fixed(source, options, isRequest) {
  const allowUnsafe = options?.allowUnsafe ?? false;
  const { text, done } = call(() => native.fixBytes(bytes(source), nativeOptions(options, isRequest), allowUnsafe));
  const { applied, refused, left } = JSON.parse(done);
  return {
    history: isText(source) ? text : JSON.parse(text.toString()),
    applied,
    refused,
    left: report(left),
    isChanged: applied.length > 0,
  };
}

const fix = (source, options) => fixed(source, options, false);
const heal = (request, options) => fixed(request, options, true);

module.exports = { RetakeError, check, willAccept, fix, heal };
