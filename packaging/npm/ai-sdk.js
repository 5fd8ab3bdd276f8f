// A middleware for the AI SDK: heals what a model is about to be sent.
"use strict";

const { RetakeError, heal } = require("./index.js");

// Bytes, URLs and dates are no JSON: each is kept aside under a name that its place holds meanwhile.
const PLACE = "retake-kept-value:";

const packed = (prompt) => {
  const kept = [];
  const isPlain = (value) => [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value));
  const isKept = (value) =>
    typeof value === "string" ? value.startsWith(PLACE) : typeof value === "object" && value !== null && !isPlain(value);
  const pack = (value) => {
    if (isKept(value)) {
      return PLACE + (kept.push(value) - 1);
    }
    if (Array.isArray(value)) {
      return value.map(pack);
    }
    return value && typeof value === "object"
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, pack(inner)]))
      : value;
  };
  return { plain: pack(prompt), kept };
};

const unpacked = (value, kept) => {
  if (typeof value === "string") {
    return value.startsWith(PLACE) ? kept[value.slice(PLACE.length)] : value;
  }
  if (Array.isArray(value)) {
    return value.map((inner) => unpacked(inner, kept));
  }
  return value && typeof value === "object"
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, unpacked(inner, kept)]))
    : value;
};

/** The healed messages; the same ones where they are sound, or cannot be read. */
function healMessages(prompt, log = console.warn) {
  const { plain, kept } = packed(prompt);
  let healed;
  try {
    healed = heal(plain, { format: "ai-sdk" });
  } catch (error) {
    if (!(error instanceof RetakeError)) {
      throw error;
    }
    log(`retake: the history is sent as it is: ${error.message}`);
    return prompt;
  }
  for (const { item, rule, action } of healed.applied) {
    log(`retake: item ${item}, ${rule}: ${action}`);
  }
  return healed.isChanged ? unpacked(healed.history, kept) : prompt;
}

/** For `wrapLanguageModel({ model, middleware: healMiddleware() })`. */
function healMiddleware({ log } = {}) {
  return {
    specificationVersion: "v3",
    transformParams: async ({ params }) => ({ ...params, prompt: healMessages(params.prompt, log) }),
  };
}

module.exports = { healMessages, healMiddleware };
