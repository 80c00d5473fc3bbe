import { QueryClientProvider, type QueryClient } from '@tanstack/react-query';
import { RouterProvider, type AnyRouter } from '@tanstack/react-router';
import { ConfigProvider } from 'antd';
import type { Locale } from 'antd/es/locale';
import enUS from 'antd/es/locale/en_US';
import { StrictMode, useEffect, useMemo, useState, type ReactNode } from 'react';
import type { Language } from './i18n/languages';
import { PreferencesProvider, usePhone, usePreferences, useStill } from './theme/preferences';
import { corralTheme } from './theme/theme';

const locales: Record<Exclude<Language, 'en'>, () => Promise<{ default: Locale }>> = {
  'zh-TW': () => import('antd/es/locale/zh_TW'),
  'zh-CN': () => import('antd/es/locale/zh_CN'),
};

export function App({ queries, router }: { queries: QueryClient; router: AnyRouter }) {
  return (
    <StrictMode>
      <QueryClientProvider client={queries}>
        <PreferencesProvider>
          <Look>
            <RouterProvider router={router} />
          </Look>
        </PreferencesProvider>
      </QueryClientProvider>
    </StrictMode>
  );
}

/** Ant Design in our theme and the language in use. */
function Look({ children }: { children: ReactNode }) {
  const { mode, language } = usePreferences();
  const phone = usePhone();
  const still = useStill();
  const theme = useMemo(() => corralTheme(mode, language, phone, still), [mode, language, phone, still]);
  const locale = useAntLocale(language);
  return (
    <ConfigProvider
      theme={theme}
      locale={locale}
      wave={{ disabled: true }}
      button={{ autoInsertSpace: false }}
      form={{ requiredMark: false }}
    >
      {children}
    </ConfigProvider>
  );
}

function useAntLocale(language: Language): Locale {
  const [loaded, setLoaded] = useState<{ language: Language; locale: Locale }>({ language: 'en', locale: enUS });
  useEffect(() => {
    if (language === 'en') return;
    void locales[language]().then(({ default: locale }) => setLoaded({ language, locale }));
  }, [language]);
  return loaded.language === language ? loaded.locale : enUS;
}
