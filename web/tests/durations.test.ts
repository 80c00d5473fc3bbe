import { readFileSync } from 'node:fs';
import i18next from 'i18next';
import { beforeAll, expect, test } from 'vitest';
import en from '../src/i18n/en.json';
import { readDuration, writeDuration } from '../src/i18n/durations';
import { duration } from '../src/i18n/format';

beforeAll(async () => {
  await i18next.init({ lng: 'en', resources: { en: { translation: en } }, interpolation: { escapeValue: false } });
});

interface Cases {
  read: [string, number][];
  refused: string[];
  words: [number, string][];
}

// The same as for the API and the command: tests/core/test_durations.py.
const cases = JSON.parse(readFileSync(new URL('../../tests/core/durations.json', import.meta.url), 'utf8')) as Cases;

test.each(cases.read)('%j is %i s', (text, seconds) => {
  expect(readDuration(text)).toBe(seconds);
});

test.each(cases.refused)('%j is no duration', (text) => {
  expect(readDuration(text)).toBeUndefined();
});

test.each(cases.words)('%d s is "%s"', (seconds, words) => {
  expect(duration(seconds, i18next.getFixedT('en'))).toBe(words);
});

test('a duration is written as it was read', () => {
  expect([90, 1800, 7200, 86_400, 0].map(writeDuration)).toEqual(['90s', '30min', '2h', '1d', '0s']);
});
