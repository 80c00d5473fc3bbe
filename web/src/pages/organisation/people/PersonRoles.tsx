import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { User } from '../../../api/models';
import { useMay } from '../../../api/session';
import { CloseIcon } from '../../../components/icons';
import { ConfirmByName } from '../../../components/Modals';
import { Section } from '../../../components/Page';
import { useRoleName } from '../../../components/role-name';
import { useFormat } from '../../../i18n/format';
import { usePlaces } from '../places';
import { GiveRole } from './GiveRole';

type Grant = User['roles'][number];

/** The roles of a person, each on a node of the tree; give and take. */
export function PersonRoles({ user }: { user: User }) {
  const { t } = useTranslation();
  const { day } = useFormat();
  const may = useMay();
  const roleName = useRoleName();
  const queries = useQueryClient();
  const { crumb, heldOn } = usePlaces();
  const [giving, setGiving] = useState(false);
  const [taking, setTaking] = useState<Grant | null>(null);
  const refresh = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: keys.users }),
      queries.invalidateQueries({ queryKey: keys.roles }),
    ]);
  const take = async () => {
    await body(
      client.DELETE('/api/v1/users/{user_id}/grants/{grant_id}', {
        params: { path: { user_id: user.id, grant_id: taking?.grant_id ?? '' } },
      }),
    );
    await refresh();
  };
  const words = (grant: Grant) => ({
    role: roleName(grant),
    organisation: crumb(grant.organisation_id, grant.organisation_name),
  });
  return (
    <Section
      title={t('people.roles')}
      aside={
        may('roles.grant') && (
          <Button
            type="link"
            size="small"
            style={{ padding: 0, height: 20 }}
            onClick={() => setGiving(!giving)}
            aria-expanded={giving}
          >
            {t('people.giveRole')}
          </Button>
        )
      }
    >
      {giving && (
        <GiveRole
          user={user}
          onGiven={() => {
            setGiving(false);
            void refresh();
          }}
          onLeave={() => setGiving(false)}
        />
      )}
      {user.roles.length === 0 && (
        <p className="effect" style={{ marginTop: 8 }}>
          {t('people.noRole')}
        </p>
      )}
      <ul>
        {user.roles.map((grant) => (
          <li key={grant.grant_id} className="row">
            <div className="grow">
              <div className="strong">{roleName(grant)}</div>
              <div className="small text-2">
                {grant.expires_at
                  ? t('people.onUntil', { organisation: words(grant).organisation, day: day(grant.expires_at) })
                  : t('people.on', { organisation: words(grant).organisation })}
              </div>
            </div>
            {heldOn(grant.organisation_id).has('roles.grant') && (
              <Button
                type="text"
                size="small"
                icon={<CloseIcon />}
                aria-label={t('people.takeRole', words(grant))}
                onClick={() => setTaking(grant)}
              />
            )}
          </li>
        ))}
      </ul>
      <ConfirmByName
        open={taking !== null}
        title={taking ? t('people.takeTitle', words(taking)) : ''}
        text={t('people.takeText', { name: user.display_name })}
        action={t('people.take')}
        keep={t('people.keepRole')}
        onConfirm={take}
        onClose={() => setTaking(null)}
      />
    </Section>
  );
}
