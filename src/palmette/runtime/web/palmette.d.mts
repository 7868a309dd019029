/** A word, a row of columns, names of attributes, or attributes with values. */
export type Token = string | readonly string[] | Readonly<Record<string, string | number | boolean>>;
export interface Span {
  type: string;
  /** The first token, and the one after the last. */
  start: number;
  end: number;
}
export interface Labelled {
  tokens: string[];
  labels: string[];
  spans: Span[];
  score: number;
  /** Of a text: where each token starts and ends, in the units of JavaScript's strings. */
  offsets?: [number, number][];
}
export interface Explained extends Labelled {
  explained: { scores: number[]; attributes: { name: string; weights: number[] }[] }[];
}
export type Source = string | URL | ArrayBuffer | ArrayBufferView;
export class PalmetteError extends Error {
  code: "file" | "damaged" | "unsupported" | "input" | "memory";
}
export class Tagger {
  readonly labels: string[];
  readonly scheme: string | null;
  /** How many cells a token needs; 0: attributes. */
  readonly columns: number;
  readonly metadata: Record<string, unknown>;
  /** transitions[before][label] */
  readonly transitions: number[][];
  tag(sentence: string | readonly Token[]): Labelled;
  nbest(sentence: string | readonly Token[], n: number): Labelled[];
  explain(sentence: string | readonly Token[]): Explained;
  close(): void;
}
export function load(options?: { model?: Source; wasm?: Source }): Promise<Tagger>;
