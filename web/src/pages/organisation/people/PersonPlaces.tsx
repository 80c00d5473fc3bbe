import { useQueryClient } from '@tanstack/react-query';
import { Button, Form } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { User } from '../../../api/models';
import { CloseIcon } from '../../../components/icons';
import { ConfirmByName } from '../../../components/Modals';
import { Section } from '../../../components/Page';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { OrganisationSelect } from '../OrganisationSelect';
import { usePlaces } from '../places';

/** Where a person belongs; add and remove. */
export function PersonPlaces({ user, manages }: { user: User; manages: boolean }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { crumb, heldOn } = usePlaces();
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<{ id: string; name: string } | null>(null);
  const refresh = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: keys.users }),
      queries.invalidateQueries({ queryKey: keys.organisations }),
    ]);
  const rolesThere = user.roles.filter((grant) => grant.organisation_id === leaving?.id).length;
  return (
    <Section
      title={t('people.belongsTo')}
      aside={
        manages && (
          <Button
            type="link"
            size="small"
            style={{ padding: 0, height: 20 }}
            aria-expanded={adding}
            onClick={() => setAdding(!adding)}
          >
            {t('people.addPlace')}
          </Button>
        )
      }
    >
      {adding && (
        <AddPlace
          user={user}
          onAdded={() => {
            setAdding(false);
            void refresh();
          }}
        />
      )}
      {user.organisations.length === 0 && (
        <p className="effect" style={{ marginTop: 8 }}>
          {t('people.belongsNowhere')}
        </p>
      )}
      <ul>
        {user.organisations.map(({ id, name }) => (
          <li key={id} className="row">
            <span className="grow">{crumb(id, name)}</span>
            {heldOn(id).has('people.manage') && (
              <Button
                type="text"
                size="small"
                icon={<CloseIcon />}
                aria-label={t('people.endPlace', { organisation: name })}
                onClick={() => setLeaving({ id, name })}
              />
            )}
          </li>
        ))}
      </ul>
      <ConfirmByName
        open={leaving !== null}
        title={t('people.endPlaceTitle', { organisation: leaving?.name, name: user.display_name })}
        text={rolesThere > 0 ? t('people.endPlaceRoles', { count: rolesThere }) : t('people.endPlaceText')}
        action={t('people.endPlaceAction')}
        keep={t('people.keepPlace')}
        onConfirm={async () => {
          await body(
            client.DELETE('/api/v1/users/{user_id}/memberships/{organisation_id}', {
              params: { path: { user_id: user.id, organisation_id: leaving?.id ?? '' } },
            }),
          );
          await refresh();
        }}
        onClose={() => setLeaving(null)}
      />
    </Section>
  );
}

function AddPlace({ user, onAdded }: { user: User; onAdded: () => void }) {
  const { t } = useTranslation();
  const [form] = Form.useForm<{ organisation_id: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ organisation_id }: { organisation_id: string }) =>
      body(
        client.PUT('/api/v1/users/{user_id}/memberships/{organisation_id}', {
          params: { path: { user_id: user.id, organisation_id } },
        }),
      ),
    onAdded,
  );
  return (
    <Form form={form} layout="vertical" onFinish={submit} aria-label={t('people.addPlace')}>
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item
        name="organisation_id"
        label={t('people.organisation')}
        rules={[{ required: true, message: t('form.needed', { field: t('people.organisation') }) }]}
      >
        <OrganisationSelect needs="people.manage" without={new Set(user.organisations.map(({ id }) => id))} />
      </Form.Item>
      <Button type="primary" htmlType="submit" disabled={busy}>
        {t('people.addPlaceAction')}
      </Button>
    </Form>
  );
}
