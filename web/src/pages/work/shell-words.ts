/** A line as a shell would split it into words; nothing is expanded. Null: a quote is not closed. */
export function shellWords(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let index = 0; index < line.length; index += 1) {
    const letter = line[index] ?? '';
    if (quote === "'") {
      if (letter === "'") quote = null;
      else word += letter;
    } else if (quote === '"') {
      if (letter === '"') quote = null;
      else if (letter === '\\' && /["\\$`]/.test(line[index + 1] ?? '')) word += line[++index] ?? '';
      else word += letter;
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      word ??= '';
    } else if (letter === '\\' && index + 1 < line.length) {
      const next = line[++index] ?? '';
      // A backslash at the end of a line only continues it.
      if (next !== '\n') word = (word ?? '') + next;
    } else if (/\s/.test(letter)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + letter;
  }
  if (quote !== null) return null;
  return word === null ? words : [...words, word];
}

/** A word as a shell takes it for exactly this. */
export const shellQuoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
