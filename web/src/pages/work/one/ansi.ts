import { visible } from '../../../components/visible';

/** Text with one look; colours are classes, so that both themes can show them. */
export interface Span {
  text: string;
  look: string;
}

export interface Style {
  colour: string | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

export const plain: Style = { colour: null, bold: false, dim: false, italic: false, underline: false };

const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;
// Sequences that move the cursor, set titles and the like are dropped whole.
const sequence =
  // eslint-disable-next-line no-control-regex
  /(?:\u001b\[|\u009b)([0-9;:?<=>]*)([ -/]*[@-~])|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:[\u0007\u009c]|\u001b\\)?|\u001b[ -/]*[0-~]|[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** One line of output as spans, and the style that the next line begins with. Nothing of it is ever markup. */
export function readLine(line: string, start: Style): { spans: Span[]; style: Style } {
  const spans: Span[] = [];
  let style = start;
  let from = 0;
  const push = (text: string) => {
    if (text) spans.push({ text: visible(text), look: look(style) });
  };
  const shown = overwritten(line);
  for (const found of shown.matchAll(sequence)) {
    push(shown.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === 'm') style = changed(style, found[1] ?? '');
  }
  push(shown.slice(from));
  return { spans, style };
}

/** A progress bar writes over its line: what was written last is seen. */
function overwritten(line: string): string {
  const parts = line.split('\r').filter((part) => part !== '');
  return parts.at(-1) ?? '';
}

function look({ colour, bold, dim, italic, underline }: Style): string {
  return [colour && `a-${colour}`, bold && 'a-bold', dim && 'a-dim', italic && 'a-italic', underline && 'a-underline']
    .filter(Boolean)
    .join(' ');
}

function changed(before: Style, codes: string): Style {
  let style = before;
  const numbers = codes.split(/[;:]/).map(Number);
  for (let index = 0; index < numbers.length; index += 1) {
    const code = numbers[index] ?? 0;
    if (code === 0) style = plain;
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 2) style = { ...style, dim: true };
    else if (code === 3) style = { ...style, italic: true };
    else if (code === 4) style = { ...style, underline: true };
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code === 23) style = { ...style, italic: false };
    else if (code === 24) style = { ...style, underline: false };
    else if (code >= 30 && code <= 37) style = { ...style, colour: names[code - 30] ?? null };
    else if (code >= 90 && code <= 97) style = { ...style, colour: names[code - 90] ?? null };
    else if (code === 39) style = { ...style, colour: null };
    else if (code === 38 || code === 48) {
      const indexed = numbers[index + 1] === 5;
      const wanted = numbers[index + 2] ?? 0;
      if (code === 38) style = { ...style, colour: indexed && wanted < 16 ? (names[wanted % 8] ?? null) : null };
      index += indexed ? 2 : 4;
    }
  }
  return style;
}
