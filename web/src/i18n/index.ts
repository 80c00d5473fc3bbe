import i18next, { type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Language } from './languages';
import type en from './en.json';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof en };
    returnNull: false;
  }
}

const catalogues: Record<Language, () => Promise<{ default: unknown }>> = {
  en: () => import('./en.json'),
  'zh-TW': () => import('./zh-TW.json'),
  'zh-CN': () => import('./zh-CN.json'),
};

/** Starts i18next with one catalogue; the others are fetched when they are chosen. */
export async function startLanguage(language: Language): Promise<i18n> {
  await i18next.use(initReactI18next).init({
    lng: language,
    resources: {},
    interpolation: { escapeValue: false },
    returnNull: false,
    react: { useSuspense: false },
  });
  await loadLanguage(language);
  return i18next;
}

/** Fetches a catalogue once, switches to it and tells the document (fonts follow its lang). */
export async function loadLanguage(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation')) {
    const catalogue = await catalogues[language]();
    i18next.addResourceBundle(language, 'translation', catalogue.default);
  }
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}
