import { useQueryClient } from '@tanstack/react-query';
import { Link, useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { Mark } from '../../components/icons';
import { AnswerLine, Page } from '../../components/Page';
import { usePermissionWords } from '../../components/permission-words';
import { ErrorState } from '../../components/States';
import { usePhone } from '../../theme/preferences';
import type { PageEntry } from '../registry';

/** 404 inside the shell. */
export function NotFoundInShell() {
  const { t } = useTranslation();
  const phone = usePhone();
  return (
    <Page
      title={t('error.notFound.title')}
      answer={<AnswerLine consequence={t('error.notFound.consequence')}>{t('error.notFound.answer')}</AnswerLine>}
    >
      <p className="text-2" style={{ marginBottom: 16 }}>
        {t(phone ? 'error.notFound.textPhone' : 'error.notFound.text')}
      </p>
      <Link to="/">{t('error.toHome')}</Link>
    </Page>
  );
}

/** 403: says what is missing and who can give it. */
export function ForbiddenPage({ page }: { page: PageEntry }) {
  const { t } = useTranslation();
  const words = usePermissionWords();
  return (
    <Page
      title={t(`menu.${page.key}`)}
      answer={<AnswerLine consequence={t('error.forbidden.consequence')}>{t('error.forbidden.answer')}</AnswerLine>}
    >
      <p className="text-2" style={{ marginBottom: 16 }}>
        {t('error.forbidden.text', { permission: page.permission && words(page.permission) })}
      </p>
      <Link to="/">{t('error.toHome')}</Link>
    </Page>
  );
}

/** A page that failed while the shell stands: the rest of the console stays usable. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const router = useRouter();
  const again = () => {
    void queries.invalidateQueries();
    reset();
    void router.invalidate();
  };
  return (
    <Page title={t('error.title')}>
      <ErrorState error={error} onRetry={again} />
    </Page>
  );
}

/** Nothing could be shown at all: the server does not answer, or the console itself failed. */
export function WholePageError({ error, reset }: ErrorComponentProps) {
  const { t } = useTranslation();
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  return (
    <div className="door">
      <main className="door-main">
        <Mark className="mark" size={40} />
        <h1>{t('product')}</h1>
        <ErrorState error={error} onRetry={again} />
        <Button type="text" onClick={() => location.reload()}>
          {t('action.reload')}
        </Button>
      </main>
    </div>
  );
}
