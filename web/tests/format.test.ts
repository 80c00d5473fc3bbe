import i18next from 'i18next';
import { beforeAll, describe, expect, test } from 'vitest';
import { initials } from '../src/components/Avatar';
import en from '../src/i18n/en.json';
import { ago, clock, day, duration, gibibytes, moment } from '../src/i18n/format';
import { languageFor } from '../src/i18n/languages';
import zhTW from '../src/i18n/zh-TW.json';
import { browserOf } from '../src/pages/profile/browser-of';
import { parseSearch, stringifySearch } from '../src/shell/url-state';

beforeAll(async () => {
  await i18next.init({
    lng: 'en',
    resources: { en: { translation: en }, 'zh-TW': { translation: zhTW } },
    interpolation: { escapeValue: false },
  });
});

const at = (text: string): Date => new Date(`2026-11-${text}`);
const now = at('17T14:32:08');

const breaking = (text: string): string => text.replaceAll('\u00a0', ' ');

describe('times', () => {
  test('are 24 h, without a date today and without a year this year', () => {
    expect(clock(now, true)).toBe('14:32:08');
    expect(moment(at('17T08:05:00'), 'en', now)).toBe('08:05');
    expect(breaking(moment(at('12T08:05:00'), 'en', now))).toBe('12 Nov, 08:05');
    expect(breaking(moment(new Date('2027-01-31T10:00:00'), 'en', now))).toBe('31 Jan 2027, 10:00');
  });

  test('have a space between Han and digits', () => {
    expect(day(at('12T08:05:00'), 'zh-TW', now)).toBe('11\u00a0月\u00a012\u00a0日');
    expect(breaking(moment(new Date('2027-01-31T10:00:00'), 'zh-CN', now))).toBe('2027 年 1 月 31 日 10:00');
  });

  test.each([
    ['17T14:31:30', 'now'],
    ['17T14:28:00', '4 min ago'],
    ['17T09:00:00', '09:00'],
    ['16T20:10:00', 'yesterday, 20:10'],
    ['02T20:10:00', '2 Nov'],
  ])('%s is "%s" ago', (text, said) => {
    expect(breaking(ago(at(text), 'en', i18next.t, now))).toBe(said);
  });

  test.each([
    [41, '41 s', '41 秒'],
    [14 * 60, '14 min', '14 分鐘'],
    [2 * 3600 + 4 * 60, '2 h 4 min', '2 小時 4 分鐘'],
    [3600, '1 h', '1 小時'],
    [86_400, '1 d', '1 天'],
    [3 * 86_400, '3 d', '3 天'],
  ])('%i s is "%s"', (seconds, english, taiwan) => {
    expect(duration(seconds, i18next.getFixedT('en'))).toBe(english);
    expect(duration(seconds, i18next.getFixedT('zh-TW'))).toBe(taiwan);
  });
});

test('sizes carry their unit behind a no-break space', () => {
  expect(gibibytes(23.5 * 1024 ** 3, 'en')).toBe('23.5\u00a0GiB');
  expect(gibibytes(1536 * 1024 ** 3, 'en')).toBe('1,536\u00a0GiB');
});

test.each([
  [['zh-HK', 'en'], 'zh-TW'],
  [['zh-Hant-MO'], 'zh-TW'],
  [['zh'], 'zh-CN'],
  [['fr', 'zh-TW'], 'zh-TW'],
  [['fr'], 'en'],
])('a browser that asks for %j reads %s', (wanted, language) => {
  expect(languageFor(wanted)).toBe(language);
});

test.each([
  ['Priya Raghavan', 'PR'],
  ['admin', 'AD'],
  ['Sanne de Vries', 'SV'],
  ['陳美玲', '玲'],
])('the initials of %s are %s', (name, letters) => {
  expect(initials(name)).toBe(letters);
});

test('a user agent is named by browser and system, or not at all', () => {
  expect(browserOf('Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36')).toBe(
    'Chrome 140, Linux',
  );
  expect(browserOf('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18.1 Safari/605')).toBe('Safari 18, macOS');
  expect(browserOf('something')).toBeNull();
});

test('filters stay strings in the address and empty ones leave it', () => {
  expect(stringifySearch({ name: '1', state: '', person: undefined, search: 'a b&c' })).toBe('?name=1&search=a+b%26c');
  expect(parseSearch('?name=1&search=a+b%26c')).toEqual({ name: '1', search: 'a b&c' });
});
