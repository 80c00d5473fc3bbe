import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors';

export interface ProblemText {
  title: string;
  text: string;
}

/**
 * A refusal in words. English shows the server's own sentence, which has the numbers; the other
 * languages say it in their words where the catalogue knows the problem.
 */
export function useProblemText(): (error: unknown) => ProblemText {
  const { t, i18n } = useTranslation();
  return (error) => {
    if (!(error instanceof ApiError))
      return { title: t('problem.unexpected.title'), text: t('problem.unexpected.text') };
    if (error.unreachable) return { title: t('problem.unreachable.title'), text: t('problem.unreachable.text') };
    // A malformed id is to its reader what an unknown one is.
    if (error.nowhere && error.status !== 404)
      return { title: t('problem.not-found.title'), text: t('problem.not-found.text') };
    const key = `problem.${error.slug}`;
    const known = i18n.exists(`${key}.title`);
    if (i18n.language !== 'en' && known) {
      const translate = t as unknown as (key: string, values: Record<string, unknown>) => string;
      // The server's sentence names the thing and the numbers; it is better foreign than missing.
      const detail = error.detail ? `（${error.detail}）` : '';
      return { title: translate(`${key}.title`, error.body), text: translate(`${key}.text`, error.body) + detail };
    }
    return { title: error.message, text: [error.detail, error.remedy].filter(Boolean).join(' ') };
  };
}
