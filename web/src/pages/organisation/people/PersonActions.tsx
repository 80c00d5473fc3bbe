import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey, ifMatch } from '../../../api/client';
import { deleteThing } from '../../../api/deletion';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import type { User } from '../../../api/models';
import { useMe } from '../../../api/session';
import { ConfirmByName, SecretOnce } from '../../../components/Modals';
import { Notice, ProblemNotice } from '../../../components/States';
import { discardUnsaved } from '../../../components/unsaved';
import { useFormat } from '../../../i18n/format';
import { useChangePerson } from './change-person';

/** Login link, sign out everywhere, approve, disable, enable, delete. */
export function PersonActions({ user, onDeleted }: { user: User; onDeleted: () => void }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const me = useMe();
  const queries = useQueryClient();
  const change = useChangePerson(user);
  const [link, setLink] = useState<{ url: string; expires_at: string } | null>(null);
  const [asking, setAsking] = useState<'delete' | 'disable' | 'signOut' | null>(null);
  const [told, setTold] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const attempt = async (act: () => Promise<void>) => {
    setError(null);
    setTold(null);
    try {
      await act();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    }
  };
  const makeLink = () =>
    attempt(async () =>
      setLink(
        await body(
          client.POST('/api/v1/users/{user_id}/login-link', {
            params: { path: { user_id: user.id }, header: idempotencyKey() },
          }),
        ),
      ),
    );
  const activate = () => attempt(async () => void (await change({ state: 'active' })));
  const signOut = async () => {
    const { revoked } = await body(
      client.POST('/api/v1/users/{user_id}/sessions/revoke', { params: { path: { user_id: user.id } } }),
    );
    setTold(t('people.signedOut', { count: revoked }));
    await queries.invalidateQueries({ queryKey: [...keys.users, 'sessions', user.id] });
  };
  const remove = async () => {
    await deleteThing(user.id, () =>
      body(client.DELETE('/api/v1/users/{user_id}', { params: { path: { user_id: user.id }, header: ifMatch(user) } })),
    );
    discardUnsaved();
    onDeleted();
    await Promise.all(
      [keys.users, keys.organisations, keys.queues].map((queryKey) => queries.invalidateQueries({ queryKey })),
    );
  };
  const own = user.id === me.id;
  return (
    <>
      {told && <Notice tone="good">{told}</Notice>}
      {error !== null && <ProblemNotice error={error} />}
      <div className="panel-actions">
        {user.state === 'pending' && (
          <Button size="small" type="primary" onClick={activate}>
            {t('people.approve')}
          </Button>
        )}
        {user.state === 'active' && (
          <Button size="small" onClick={makeLink}>
            {t('people.loginLink')}
          </Button>
        )}
        {user.state === 'active' && !own && (
          <Button size="small" onClick={() => setAsking('signOut')}>
            {t('people.signOut')}
          </Button>
        )}
        {user.state === 'disabled' && (
          <Button size="small" onClick={activate}>
            {t('people.enable')}
          </Button>
        )}
        {user.state !== 'disabled' && !own && (
          <Button size="small" danger className="last" onClick={() => setAsking('disable')}>
            {user.state === 'pending' ? t('people.refuse') : t('people.disable')}
          </Button>
        )}
        {!own && (
          <Button
            size="small"
            danger
            className={user.state === 'disabled' ? 'last' : undefined}
            onClick={() => setAsking('delete')}
          >
            {t('people.delete')}
          </Button>
        )}
      </div>
      <SecretOnce
        title={t('people.linkTitle', { name: user.display_name })}
        text={link && t('people.linkText', { name: user.display_name, time: moment(link.expires_at) })}
        secret={link?.url ?? null}
        onClose={() => setLink(null)}
      />
      <ConfirmByName
        open={asking === 'signOut'}
        title={t('people.signOutTitle', { name: user.display_name })}
        text={t('people.signOutText')}
        action={t('people.signOut')}
        keep={t('people.keepSignedIn')}
        onConfirm={signOut}
        onClose={() => setAsking(null)}
      />
      <ConfirmByName
        open={asking === 'disable'}
        title={t('people.disableTitle', { name: user.display_name })}
        text={t('people.disableText')}
        action={user.state === 'pending' ? t('people.refuse') : t('people.disable')}
        keep={t('people.keepActive')}
        onConfirm={() => change({ state: 'disabled' })}
        onClose={() => setAsking(null)}
      />
      <ConfirmByName
        open={asking === 'delete'}
        title={t('people.deleteTitle', { name: user.display_name })}
        text={t('people.deleteText')}
        name={user.name}
        action={t('people.delete')}
        keep={t('people.keepAccount')}
        onConfirm={remove}
        onClose={() => setAsking(null)}
      />
    </>
  );
}
