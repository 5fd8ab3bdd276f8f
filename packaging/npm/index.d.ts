/** Checks and fixes what tool-calling agents send and record. `retake help formats` lists what it reads. */

export type Dialect = "responses" | "chat" | "anthropic" | "gemini" | "converse";

export interface Options {
  /** Judges for this provider instead of that of the history. */
  dialect?: Dialect;
  /** The id of the format; it is recognised without it. */
  format?: string;
  /** Definitions as requests hold them, for histories that do not say which tools were offered. */
  tools?: readonly unknown[];
}

export interface CheckOptions extends Options {
  /** The JSON Schema of the final output. */
  outputSchema?: object;
}

export interface FixOptions extends Options {
  /** Applies to errors also what changes what the model saw. */
  allowUnsafe?: boolean;
}

export interface RequestOptions extends Options {
  /** The same as `dialect`. */
  provider?: Dialect;
}

/** A recovery that applies to a finding. */
export interface Offer {
  action: string;
  /** `safe` keeps what the model meant, `unsafe` changes what it saw or did, `manual` needs words. */
  safety: "safe" | "unsafe" | "manual";
}

/** One defect. Turns, items, lines and columns count from 1. */
export interface Finding {
  rule: string;
  severity: "error" | "warning" | "info";
  message: string;
  session: string;
  turn: number | null;
  item: number | null;
  tool: string | null;
  callId: string | null;
  /** JSON pointer into the arguments or the output. */
  pointer: string | null;
  cause: string | null;
  line: number | null;
  column: number | null;
  /** Its record in a file without lines: `exchange 3`. */
  record: string | null;
  /** An example of the words in which the provider refuses it. */
  refusal: string | null;
  offers: Offer[];
}

/** Something that could not be read as it stands. */
export interface Problem {
  message: string;
  line: number | null;
  column: number | null;
  /** Counted from 0. */
  byte: number;
  /** Whether something was not read for it. */
  isUnread: boolean;
}

export interface Session {
  name: string;
  /** The dialect that it was judged for. */
  dialect: Dialect;
  turns: number;
  items: number;
  calls: number;
  outputs: number;
  /** Without them no call can be found to be unknown. */
  toolsKnown: boolean;
  findings: Finding[];
  problems: Problem[];
}

export interface Report {
  path: string;
  format: string;
  /** The file that tools were taken from, where the recording does not hold them. */
  toolsFrom: string | null;
  sessions: Session[];
  /** The findings of all sessions, in the order of the histories. */
  findings: Finding[];
  errors: Finding[];
  problems: Problem[];
  /** Whether everything was read and no finding is an error. */
  isClean: boolean;
}

/** Whether a provider takes a request, as far as is known. */
export interface Verdict {
  isAccepted: boolean;
  /** What the provider refuses the request for. */
  findings: Finding[];
  report: Report;
}

/** An action that a fix applied, or could not apply. Sessions and items count from 1, items as they were then. */
export interface Step {
  session: number;
  item: number;
  rule: string;
  action: string;
  /** What it says of what it did, or why it could not. */
  notes: string[];
}

/** A history that was fixed; what was given is left as it is. */
export interface Fixed<H> {
  /** A Buffer where bytes were given, else the history's JSON. */
  history: H;
  applied: Step[];
  refused: Step[];
  /** What is left in it. */
  left: Report;
  isChanged: boolean;
}

/** What was given cannot be read, checked or fixed; `code` where the system says so. */
export class RetakeError extends Error {
  code?: "ENOENT" | "EACCES";
}

/** Checks a recording: the path of a file or of a database, its text as bytes, or its JSON. */
export function check(source: string | Uint8Array | object, options?: CheckOptions): Report;

/** Whether a provider takes a request that is about to be sent: a body, or the list of its messages or items. */
export function willAccept(
  request: Uint8Array | object,
  options?: RequestOptions & { /** What it is sent to, where it does not say. */ model?: string },
): Verdict;

/** Fixes a recording; only what is safe is applied. */
export function fix<H extends Uint8Array | object>(source: H, options?: FixOptions): Fixed<H>;

/** Fixes a request that is about to be sent, so that its provider takes it. */
export function heal<H extends Uint8Array | object>(request: H, options?: FixOptions & RequestOptions): Fixed<H>;
