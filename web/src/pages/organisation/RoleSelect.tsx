import { Select, type SelectProps } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session';
import { useRoleName } from '../../components/role-name';
import { usePlaces } from './places';
import { useRoles } from './roles-known';

interface Props extends Pick<SelectProps<string>, 'id' | 'value' | 'onChange' | 'placeholder'> {
  'aria-label'?: string;
  /** Where the role is to be given; those that cannot be say why. */
  organisation: string | undefined;
}

type Why = 'yes' | 'elsewhere' | 'beyond';

/** Chooses a role for an organisation. Who may not see roles chooses among their own. */
export function RoleSelect({ organisation, ...rest }: Props) {
  const { t } = useTranslation();
  const roleName = useRoleName();
  const me = useMe();
  const { grantable } = usePlaces();
  const { roles, readable } = useRoles();
  const own = [...new Map(me.roles.map((role) => [role.role_id, role])).values()];
  const options = readable
    ? (roles ?? []).map((role) => ({
        value: role.id,
        label: roleName({ role_key: role.key, role_name: role.name }),
        why: organisation ? grantable(role, organisation) : 'yes',
      }))
    : own.map((role) => ({ value: role.role_id, label: roleName(role), why: 'yes' }));
  const sorted = [...options.filter((one) => one.why === 'yes'), ...options.filter((one) => one.why !== 'yes')];
  return (
    <Select<string>
      {...rest}
      loading={readable && !roles}
      popupMatchSelectWidth={false}
      showSearch={{ optionFilterProp: 'label' }}
      options={sorted.map((one) => ({ ...one, disabled: one.why !== 'yes' }))}
      optionRender={({ label, data }) => {
        const { why } = data as { why: Why };
        return (
          <div>
            {label}
            {why !== 'yes' && (
              <div className="small text-3">
                {t(why === 'elsewhere' ? 'roles.cannotGive.elsewhere' : 'roles.cannotGive.beyond')}
              </div>
            )}
          </div>
        );
      }}
    />
  );
}
