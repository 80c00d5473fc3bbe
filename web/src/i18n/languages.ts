import list from './languages.json';

export type Language = 'en' | 'zh-TW' | 'zh-CN';

/** The three languages with their own names, in the order they are offered. */
export const languages = list as readonly { key: Language; name: string }[];

export function isLanguage(value: unknown): value is Language {
  return languages.some((language) => language.key === value);
}

/** The best of our three for what a browser asks for; Hong Kong, Macau and any Hant read Taiwan's. */
export function languageFor(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const lower = tag.toLowerCase();
    if (lower.startsWith('en')) return 'en';
    if (!lower.startsWith('zh')) continue;
    return /hant|tw|hk|mo/.test(lower) ? 'zh-TW' : 'zh-CN';
  }
  return 'en';
}
