import { useTranslation } from 'react-i18next';

/** What a permission allows, in words; one the catalogue does not know yet shows its own name. */
export function usePermissionWords(): (permission: string) => string {
  const { t, i18n } = useTranslation();
  return (permission) => {
    const key = `permission.${permission}`;
    return i18n.exists(key) ? (t as unknown as (key: string) => string)(key) : permission;
  };
}
