import { useQuery } from '@tanstack/react-query';
import { ConfigProvider } from 'antd';
import { useEffect, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import { GlobeIcon, Mark, SunIcon } from '../../components/icons';
import { languages } from '../../i18n/languages';
import { themes } from '../../shell/preferences-of-me';
import { usePreferences } from '../../theme/preferences';

export function useLoginOptions() {
  return useQuery({
    queryKey: keys.loginOptions,
    queryFn: () => body(client.GET('/api/v1/login-options')),
    staleTime: 300_000,
  });
}

/** The pages before one is inside: mark, one column, language and theme at the foot. */
export function Door({
  title,
  lead,
  children,
  after,
}: {
  title: string;
  lead: ReactNode;
  children: ReactNode;
  after?: ReactNode;
}) {
  const { t } = useTranslation();
  const { data: options } = useLoginOptions();
  useEffect(() => {
    document.title = `${title} · ${t('product')}`;
  }, [title, t]);
  return (
    <div className="door">
      <main className="door-main">
        <Mark className="mark" size={40} />
        <h1>{title}</h1>
        <p className="lead">{lead}</p>
        {/* The few controls here are as tall as on a phone. */}
        <ConfigProvider theme={{ token: { controlHeight: 40 } }}>{children}</ConfigProvider>
        {after && <div className="door-after">{after}</div>}
      </main>
      <footer className="door-foot">
        <span>{options ? t('door.version', { version: options.version }) : t('product')}</span>
        <Choices />
      </footer>
    </div>
  );
}

function Choices() {
  const { t } = useTranslation();
  const { theme, language, setTheme, setLanguage } = usePreferences();
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
  return (
    <div className="right">
      {languages.map(({ key, name }, index) => (
        <button
          key={key}
          type="button"
          className="plain"
          lang={key}
          aria-pressed={language === key}
          onClick={() => setLanguage(key)}
        >
          {index === 0 && <GlobeIcon size={14} />}
          {name}
        </button>
      ))}
      <button
        type="button"
        className="plain"
        onClick={() => setTheme(next)}
        aria-label={t('door.themeIs', { theme: t(`theme.${theme}`), next: t(`theme.${next}`) })}
      >
        <SunIcon size={14} />
        {t(`theme.${theme}`)}
      </button>
    </div>
  );
}
