import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cssVariable, dark, light, type Tokens } from '../src/theme/tokens';

const css = readFileSync(resolve(import.meta.dirname, '../src/theme/tokens.css'), 'utf8');

/** The formatter writes colours in small letters, the design in capitals. */
function variables(selector: string): Record<string, string> {
  const block = css.slice(css.indexOf(`${selector} {`)).split('}')[0] ?? '';
  return Object.fromEntries(
    [...block.matchAll(/(--c-[\w-]+): ([^;]+);/g)].map(
      (match) => [match[1] ?? '', (match[2] ?? '').toLowerCase()] as const,
    ),
  );
}

test.each([
  [':root', light],
  [":root[data-theme='dark']", dark],
])('the CSS variables of %s are the tokens', (selector, tokens) => {
  expect(variables(selector)).toEqual(
    Object.fromEntries(Object.entries(tokens).map(([name, value]) => [cssVariable(name), value.toLowerCase()])),
  );
});

function luminance(color: string): number {
  const channel = (at: number): number => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

describe.each([
  ['light', light],
  ['dark', dark],
])('%s text is readable (AA)', (_, c: Tokens) => {
  test.each([
    ...(['canvas', 'side', 'raised', 'fill1', 'fill2', 'accentSoft'] as const).flatMap((ground) =>
      (['text', 'text2', 'text3'] as const).map((text) => [text, ground] as const),
    ),
    ['text', 'fill3'],
    ['text2', 'fill3'],
    ['onAccent', 'accent'],
    ['accent', 'canvas'],
    ['accent', 'side'],
    ...(['green', 'amber', 'blue', 'violet', 'red', 'grey'] as const).flatMap((hue) => [
      [hue, 'canvas'] as const,
      [hue, `${hue}Soft`] as const,
    ]),
    ['text', 'amberSoft'],
    ['text', 'redSoft'],
    ['text', 'greenSoft'],
    ['text2', 'amberSoft'],
  ] as [keyof Tokens, keyof Tokens][])('%s on %s', (text, ground) => {
    expect(contrast(c[text], c[ground])).toBeGreaterThanOrEqual(4.5);
  });
});
