import type { LanguageModelMiddleware } from "ai";

/** Heals what a model is about to be sent: `wrapLanguageModel({ model, middleware: healMiddleware() })`. */
export function healMiddleware(options?: {
  /** Gets what was changed; `console.warn` without it. */
  log?: (message: string) => void;
}): LanguageModelMiddleware;

/**
 * The healed messages; the same ones where they are sound, or cannot be read. The AI SDK itself refuses a call without its
 * result before any middleware sees it: `generateText({ model, messages: healMessages(messages) })`.
 */
export function healMessages<M extends readonly object[]>(messages: M, log?: (message: string) => void): M;
