import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { body, client } from '../api/client';
import { keys } from '../api/keys';
import type { Session } from '../api/models';
import { useSession } from '../api/session';
import { isLanguage, type Language } from '../i18n/languages';
import { isThemeChoice, usePreferences, type ThemeChoice } from '../theme/preferences';

export const themes = ['light', 'dark', 'system'] as const satisfies readonly ThemeChoice[];

/** Changes theme or language here and for the account, so that the next browser has it too. */
export function useChangePreferences() {
  const queries = useQueryClient();
  const { setTheme, setLanguage } = usePreferences();
  const keep = async (change: { theme?: ThemeChoice; language?: Language }) => {
    const user = await body(client.PATCH('/api/v1/me', { body: change, params: { header: { 'if-match': '*' } } }));
    queries.setQueryData<Session | null>(keys.session, (session) => session && { ...session, user });
  };
  return {
    chooseTheme: (theme: ThemeChoice) => {
      setTheme(theme);
      void keep({ theme });
    },
    chooseLanguage: (language: Language) => {
      setLanguage(language);
      void keep({ language });
    },
  };
}

/** What the account says wins over what this browser kept. */
export function useAccountPreferences(): void {
  const { language, theme } = useSession().user;
  const { setLanguage, setTheme } = usePreferences();
  useEffect(() => {
    if (isLanguage(language)) setLanguage(language);
  }, [language, setLanguage]);
  useEffect(() => {
    if (isThemeChoice(theme)) setTheme(theme);
  }, [theme, setTheme]);
}
