// What the types of the package promise, and what they refuse; only compiled.

import { wrapLanguageModel, type LanguageModel, type ModelMessage } from "ai";
import { check, fix, heal, willAccept, type Finding, type Fixed } from "retake";
import { healMessages, healMiddleware } from "retake/ai-sdk";

const findings: Finding[] = check("run.jsonl", { dialect: "anthropic", tools: [] }).findings;
const fixed: Fixed<Buffer> = fix(Buffer.from("[]"), { allowUnsafe: true });
const history: { role: string }[] = heal([{ role: "user" }], { provider: "chat" }).history;
const isAccepted: boolean = willAccept({ messages: history }, { model: "m" }).isAccepted;

declare const model: Parameters<typeof wrapLanguageModel>[0]["model"];
declare const messages: ModelMessage[];
const wrapped: LanguageModel = wrapLanguageModel({ model, middleware: healMiddleware() });
const healed: ModelMessage[] = healMessages(messages);

// @ts-expect-error A dialect is one of five words.
check("run.jsonl", { dialect: "cobol" });
// @ts-expect-error A text is bytes; a string is the name of a file.
heal("[]");

export { findings, fixed, isAccepted, wrapped, healed };
