export const labelLines = (text: string | undefined): string[] =>
  (text ?? '')
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter(Boolean);

/** gpu=h100, one a line, as labels; a value may hold further signs of equality. */
export const labelsOf = (text: string | undefined): Record<string, string> =>
  Object.fromEntries(
    labelLines(text).map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
