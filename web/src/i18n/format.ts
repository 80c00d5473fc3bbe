import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { isLanguage, type Language } from './languages';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const sameDay = (a: Date, b: Date): boolean => a.toDateString() === b.toDateString();

/** Between sentences: a full-width stop brings its own. */
export const gap = (language: string): string => (language === 'en' ? ' ' : '');

/** 14:32:08, always 24 h. */
export function clock(at: Date, seconds = false): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return [at.getHours(), at.getMinutes(), ...(seconds ? [at.getSeconds()] : [])].map(two).join(':');
}

/** A moment as short as it can be understood: today without date, this year without year. */
export function moment(at: Date, language: Language, now: Date = new Date()): string {
  if (sameDay(at, now)) return clock(at);
  const date = day(at, language, now);
  return `${date}${language === 'en' ? ', ' : ' '}${clock(at)}`;
}

export function day(at: Date, language: Language, now: Date = new Date()): string {
  const year = at.getFullYear() === now.getFullYear() ? undefined : 'numeric';
  const text = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    year,
    month: language === 'en' ? 'short' : 'long',
    day: 'numeric',
  }).format(at);
  // A space between Han and digits, as everywhere in the console; a date does not break across lines.
  const spaced = text.replace(/(\d)(\p{Script=Han})/gu, '$1 $2').replace(/(\p{Script=Han})(\d)/gu, '$1 $2');
  return spaced.replaceAll(' ', '\u00a0');
}

const UNITS = [
  ['time.days', DAY],
  ['time.hours', HOUR],
  ['time.minutes', MINUTE],
  ['time.seconds', 1],
] as const;

/** 41 s, 14 min 5 s, 2 h 4 min, 3 d 5 h: the largest unit that fits and the next, rounded down, as the command says it. */
export function duration(seconds: number, t: TFunction, units: 1 | 2 = 2): string {
  const whole = Math.max(0, Math.floor(seconds));
  const first = UNITS.findIndex(([, size]) => whole >= size);
  const [[key, size], next] = [UNITS[first] ?? UNITS[3], UNITS[first + 1]];
  const words = t(key, { count: Math.floor(whole / size) });
  const rest = next && first >= 0 && units > 1 ? Math.floor((whole % size) / next[1]) : 0;
  return next && rest > 0 ? `${words} ${t(next[0], { count: rest })}` : words;
}

/** now, 4 min ago, 13:58, yesterday, 12 Nov: how long ago something was. */
export function ago(at: Date, language: Language, t: TFunction, now: Date = new Date()): string {
  const seconds = (now.getTime() - at.getTime()) / 1000;
  if (seconds < 90) return t('time.now');
  if (seconds < HOUR) return t('time.ago', { duration: duration(seconds, t, 1) });
  if (sameDay(at, now)) return clock(at);
  if (sameDay(at, new Date(now.getTime() - DAY * 1000))) return t('time.yesterday', { clock: clock(at) });
  return day(at, language, now);
}

const GIB = 1024 ** 3;

/** 23.5 GiB; whole numbers without a fraction. */
export function gibibytes(bytes: number, language: Language): string {
  const digits = bytes / GIB < 100 ? 1 : 0;
  return `${new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(bytes / GIB)}\u00a0GiB`;
}

/** Everything above bound to the language in use. */
export function useFormat() {
  const { t, i18n } = useTranslation();
  const language: Language = isLanguage(i18n.language) ? i18n.language : 'en';
  const date = (at: string | Date): Date => (typeof at === 'string' ? new Date(at) : at);
  return {
    language,
    moment: (at: string | Date) => moment(date(at), language),
    day: (at: string | Date) => day(date(at), language),
    ago: (at: string | Date) => ago(date(at), language, t),
    clock: (at: string | Date, seconds?: boolean) => clock(date(at), seconds),
    duration: (seconds: number) => duration(seconds, t),
    gibibytes: (bytes: number) => gibibytes(bytes, language),
    sentences: (parts: (string | false | null | undefined)[]) => parts.filter(Boolean).join(gap(language)),
    number: (value: number) => new Intl.NumberFormat(language).format(value),
  };
}
