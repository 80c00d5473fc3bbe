import { useTranslation } from 'react-i18next';

/** A role's name: presets in the language in use, custom ones as people named them. */
export function useRoleName(): (role: { role_key?: string | null; role_name: string }) => string {
  const { t, i18n } = useTranslation();
  return ({ role_key, role_name }) => {
    const key = `role.${role_key ?? ''}`;
    return role_key && i18n.exists(key) ? (t as unknown as (key: string) => string)(key) : role_name;
  };
}
