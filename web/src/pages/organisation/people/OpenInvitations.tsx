import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Invitation } from '../../../api/models';
import { ConfirmByName } from '../../../components/Modals';
import { EmptyState, ErrorState, SkeletonRows } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { usePlaces } from '../places';
import { invitationsQuery } from '../queries';
import { useGivenRoleName } from '../roles-known';

/** Invitations nobody has used yet; each can be withdrawn. */
export function OpenInvitations() {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const { crumb } = usePlaces();
  const roleName = useGivenRoleName();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(invitationsQuery);
  const [withdrawing, setWithdrawing] = useState<Invitation | null>(null);
  const name = (one: Invitation | null) => one?.mail ?? t('people.someoneInvited');
  if (error) return <ErrorState error={error} what={t('people.invite.kinds.open')} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={3} height={64} />;
  return (
    <>
      {data.length === 0 && <EmptyState title={t('people.invite.none')} text={t('people.invite.noneText')} />}
      <ul>
        {data.map((one) => (
          <li key={one.id} className="row">
            <div className="grow">
              <div className="strong cut">{name(one)}</div>
              <div className="small text-2">
                {crumb(one.organisation_id, one.organisation_name)}
                {t('people.comma')}
                {roleName(one)}
              </div>
              <div className="small text-2">
                {t('people.invite.byUntil', { person: one.invited_by, time: moment(one.expires_at) })}
              </div>
              {one.mail && (
                <div className="small text-3">
                  {one.mailed_at
                    ? t('people.invite.mailedAt', { time: moment(one.mailed_at) })
                    : t('people.invite.noMailSent')}
                </div>
              )}
            </div>
            <Button size="small" danger onClick={() => setWithdrawing(one)}>
              {t('people.withdraw')}
            </Button>
          </li>
        ))}
      </ul>
      <ConfirmByName
        open={withdrawing !== null}
        title={t('people.invite.withdrawTitle', { name: name(withdrawing) })}
        text={t('people.invite.withdrawText')}
        action={t('people.withdraw')}
        keep={t('people.keepOpen')}
        onConfirm={async () => {
          await body(
            client.DELETE('/api/v1/invitations/{invitation_id}', {
              params: { path: { invitation_id: withdrawing?.id ?? '' } },
            }),
          );
          await Promise.all([
            queries.invalidateQueries({ queryKey: keys.invitations }),
            queries.invalidateQueries({ queryKey: keys.users }),
          ]);
        }}
        onClose={() => setWithdrawing(null)}
      />
    </>
  );
}
