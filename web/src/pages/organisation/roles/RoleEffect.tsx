import { useTranslation } from 'react-i18next';
import type { Permission, Role } from '../../../api/models';
import { usePermissionWords } from '../../../components/permission-words';

/** Whom the change hits and how, before it is saved. */
export function RoleEffect({ role, chosen }: { role: Role | null; chosen: readonly Permission[] }) {
  const { t } = useTranslation();
  const words = usePermissionWords();
  if (!role) return <p className="effect strong-effect">{t('roles.effect.new')}</p>;
  const more = chosen.filter((permission) => !role.permissions.includes(permission));
  const less = role.permissions.filter((permission) => !chosen.includes(permission));
  const list = (permissions: readonly Permission[]) => permissions.map(words).join(t('roles.semicolon'));
  return (
    <div className="effect strong-effect" aria-live="polite">
      <div className="strong">{t('roles.effect.people', { count: role.people_count })}</div>
      {more.length > 0 && <div>{t('roles.effect.more', { words: list(more) })}</div>}
      {less.length > 0 && <div>{t('roles.effect.less', { words: list(less) })}</div>}
      {more.length + less.length === 0 && <div>{t('roles.effect.same')}</div>}
    </div>
  );
}
