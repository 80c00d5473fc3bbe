import { useTranslation } from 'react-i18next';

/** What an action of the audit log is called, as a verb after the person's name. */
export function useActionWords(): (action: string) => string {
  const { t, i18n } = useTranslation();
  return (action) => {
    const key = `audit.action.${action}`;
    return i18n.exists(key) ? (t as unknown as (key: string) => string)(key) : action;
  };
}
