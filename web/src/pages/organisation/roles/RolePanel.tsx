import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Role } from '../../../api/models';
import { useMay } from '../../../api/session';
import { CheckIcon } from '../../../components/icons';
import { Section } from '../../../components/Page';
import { usePermissionWords } from '../../../components/permission-words';
import { useRoleName } from '../../../components/role-name';
import { SidePanel } from '../../../components/SidePanel';
import { usePlaces } from '../places';
import { areaOf, areas, inOrder } from '../roles-known';

/** One role: what it allows, grouped, and who has it. */
export function RolePanel({
  role,
  onChange,
  onDelete,
  onClose,
}: {
  role: Role;
  onChange: () => void;
  onDelete: () => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const may = useMay();
  const roleName = useRoleName();
  const words = usePermissionWords();
  const { crumb, heldOn } = usePlaces();
  const held = heldOn(role.organisation_id);
  const custom = role.key === null;
  const beyond = role.permissions.filter((permission) => !held.has(permission));
  const manages = custom && held.has('roles.manage') && beyond.length === 0;
  return (
    <SidePanel
      title={roleName({ role_key: role.key, role_name: role.name })}
      subtitle={t(custom ? 'roles.customOn' : 'roles.presetOn', {
        organisation: crumb(role.organisation_id, role.organisation_name),
      })}
      onClose={onClose}
    >
      {manages && (
        <div className="panel-actions">
          <Button onClick={onChange}>{t('roles.change')}</Button>
          <Button danger className="last" onClick={onDelete}>
            {t('roles.delete')}
          </Button>
        </div>
      )}
      {custom && role.description && (
        <p className="text-2" style={{ marginBottom: 16 }}>
          {role.description}
        </p>
      )}
      {!custom && (
        <p className="text-2" style={{ marginBottom: 16 }}>
          {t('roles.presetFixed')}
        </p>
      )}
      {custom && held.has('roles.manage') && beyond.length > 0 && (
        <p className="effect">{t('roles.beyond', { words: beyond.map(words).join(t('roles.semicolon')) })}</p>
      )}
      <Section title={t('roles.allows')} note={String(role.permissions.length)}>
        {areas
          .map((area) => ({
            area,
            here: inOrder(role.permissions).filter((permission) => areaOf(permission) === area),
          }))
          .filter(({ here }) => here.length > 0)
          .map(({ area, here }) => (
            <div key={area} style={{ marginTop: 10 }}>
              <div className="small text-3">{t(`roles.area.${area}`)}</div>
              <ul className="allows" style={{ marginTop: 2 }}>
                {here.map((permission) => (
                  <li key={permission} className="yes">
                    <CheckIcon size={14} />
                    <span>{words(permission)}</span>
                  </li>
                ))}
              </ul>
            </div>
          ))}
      </Section>
      <Section title={t('roles.whoHas')}>
        <p style={{ marginTop: 8 }}>
          {may('people.read') && role.people_count > 0 ? (
            <Link to="/people" search={{ role: role.id }}>
              {t('people.count', { count: role.people_count })}
            </Link>
          ) : role.people_count === 0 ? (
            <span className="text-2">{t('roles.nobody')}</span>
          ) : (
            t('people.count', { count: role.people_count })
          )}
        </p>
      </Section>
    </SidePanel>
  );
}
