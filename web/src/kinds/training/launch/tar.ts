const BLOCK = 512;
const MODE = 0o644;
const encoder = new TextEncoder();

export interface Entry {
  path: string;
  size: number;
  content: Blob;
}

/** Files as one tar archive, in the order of their paths so that the same files are the same archive. */
export function tarOf(entries: readonly Entry[]): Blob {
  const parts: BlobPart[] = [];
  for (const { path, size, content } of entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    if (!fits(path)) {
      // The name goes before it in a header of its own (POSIX.1-2001), which has no bound.
      const record = named('path', path);
      parts.push(header('PaxHeader', record.length, 'x'), record, padding(record.length));
    }
    parts.push(header(fits(path) ? path : 'long-name', size, '0'), content, padding(size));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return new Blob(parts, { type: 'application/x-tar' });
}

const fits = (path: string): boolean => /^[\x20-\x7e]{1,100}$/.test(path);
const padding = (size: number): Uint8Array<ArrayBuffer> => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;

/** "27 path=…\n": the number counts the whole line, itself included. */
function named(key: string, value: string): Uint8Array<ArrayBuffer> {
  const rest = encoder.encode(` ${key}=${value}\n`).length;
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return encoder.encode(`${length} ${key}=${value}\n`);
}

function header(name: string, size: number, type: '0' | 'x'): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const put = (text: string, at: number) => block.set(encoder.encode(text), at);
  put(name, 0);
  put(octal(MODE, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(size, 11), 124);
  put(octal(0, 11), 136);
  put(' '.repeat(8), 148);
  put(type, 156);
  put('ustar\u000000', 257);
  put(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )} `,
    148,
  );
  return block;
}
