import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from 'react';
import { loadLanguage } from '../i18n';
import { isLanguage, languageFor, type Language } from '../i18n/languages';
import { readKept, writeKept } from '../kept';
import type { Mode } from './theme';

export type ThemeChoice = 'light' | 'dark' | 'system';

interface Preferences {
  theme: ThemeChoice;
  mode: Mode;
  language: Language;
  setTheme: (theme: ThemeChoice) => void;
  setLanguage: (language: Language) => void;
}

const PreferencesContext = createContext<Preferences | null>(null);

export function isThemeChoice(value: unknown): value is ThemeChoice {
  return value === 'light' || value === 'dark' || value === 'system';
}

export function keptTheme(): ThemeChoice {
  const kept = readKept('theme');
  return isThemeChoice(kept) ? kept : 'system';
}

export function keptLanguage(): Language {
  const kept = readKept('language');
  return isLanguage(kept) ? kept : languageFor(navigator.languages);
}

/** Theme and language of this browser: kept here, applied to the document, followed by every page. */
export function PreferencesProvider({ children }: { children: ReactNode }) {
  const [theme, storeTheme] = useState(keptTheme);
  const [language, storeLanguage] = useState(keptLanguage);
  const systemDark = useMediaQuery('(prefers-color-scheme: dark)');
  const mode: Mode = theme === 'system' ? (systemDark ? 'dark' : 'light') : theme;

  useEffect(() => {
    document.documentElement.dataset.theme = mode;
  }, [mode]);

  const setTheme = useCallback((next: ThemeChoice) => {
    writeKept('theme', next);
    storeTheme(next);
  }, []);
  const setLanguage = useCallback((next: Language) => {
    writeKept('language', next);
    void loadLanguage(next).then(() => storeLanguage(next));
  }, []);

  const value = useMemo(
    () => ({ theme, mode, language, setTheme, setLanguage }),
    [theme, mode, language, setTheme, setLanguage],
  );
  return <PreferencesContext value={value}>{children}</PreferencesContext>;
}

export function usePreferences(): Preferences {
  const value = useContext(PreferencesContext);
  if (!value) throw new Error('usePreferences needs a PreferencesProvider above it');
  return value;
}

export function useMediaQuery(query: string): boolean {
  const list = useMemo(() => matchMedia(query), [query]);
  const subscribe = useCallback(
    (changed: () => void) => {
      list.addEventListener('change', changed);
      return () => list.removeEventListener('change', changed);
    },
    [list],
  );
  return useSyncExternalStore(subscribe, () => list.matches);
}

/** True on a phone's width, where rows become lines and actions move to the foot. */
export const usePhone = (): boolean => useMediaQuery('(max-width: 720px)');

/** True where a table has room for what matters most only, as beside the menu on a small laptop. */
export const useTight = (): boolean => useMediaQuery('(max-width: 1199px)');

/** True for who asked their system for no motion. */
export const useStill = (): boolean => useMediaQuery('(prefers-reduced-motion: reduce)');
