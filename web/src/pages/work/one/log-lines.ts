import { plain, readLine, type Span, type Style } from './ansi';

export type Line =
  | { id: number; kind: 'text'; spans: Span[]; text: string }
  | { id: number; kind: 'gap'; bytes: number }
  | { id: number; kind: 'earlier' };

export interface LogState {
  lines: Line[];
  /** The last line as far as it was written, and the style it begins with. */
  open: string;
  style: Style;
  nextId: number;
}

export const empty: LogState = { lines: [], open: '', style: plain, nextId: 0 };

/** More lines than this are not kept in the page; the download has them all. */
export const MOST_LINES = 20_000;

/** A longer line is shown as several: one without an end would be read anew with every part. */
const LONGEST_LINE = 16_384;

function cut(line: string): string[] {
  const parts = [];
  for (let from = 0; from === 0 || from < line.length; from += LONGEST_LINE)
    parts.push(line.slice(from, from + LONGEST_LINE));
  return parts;
}

/** What was shown and the part that came after it. */
export function append(state: LogState, part: { text: string; dropped: number; earlier: boolean }): LogState {
  let { nextId, style } = state;
  const lines = state.open === '' ? [...state.lines] : state.lines.slice(0, -1);
  if (part.earlier) lines.push({ id: nextId++, kind: 'earlier' });
  if (part.dropped > 0) lines.push({ id: nextId++, kind: 'gap', bytes: part.dropped });
  const texts = (state.open + part.text).replaceAll('\r\n', '\n').split('\n').flatMap(cut);
  const open = texts.pop() ?? '';
  const textLine = (spans: Span[]): Line => ({
    id: nextId++,
    kind: 'text',
    spans,
    text: spans.map((span) => span.text).join(''),
  });
  for (const text of texts) {
    const read = readLine(text, style);
    style = read.style;
    lines.push(textLine(read.spans));
  }
  if (open !== '') lines.push(textLine(readLine(open, style).spans));
  if (lines.length > MOST_LINES) lines.splice(0, lines.length - MOST_LINES, { id: nextId++, kind: 'earlier' });
  return { lines, open, style, nextId };
}
