import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { OpenSession } from '../../api/models';
import { AsCommand } from '../../components/AsCommand';
import { DataTable } from '../../components/DataTable';
import { ConfirmByName } from '../../components/Modals';
import { AnswerLine, Page } from '../../components/Page';
import { ErrorState, SkeletonAnswer } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { browserOf } from './browser-of';
import type { TabProps } from './ProfilePage';

/** Where one is signed in; each can be ended from here. */
export function SessionsTab(frame: TabProps) {
  const { t } = useTranslation();
  const { ago, moment } = useFormat();
  const queries = useQueryClient();
  const [endingOthers, setEndingOthers] = useState(false);
  const sessions = useQuery({
    queryKey: keys.mySessions,
    queryFn: async () => (await body(client.GET('/api/v1/me/sessions'))).items,
  });
  const rows = sessions.data;
  const others = (rows?.length ?? 1) - 1;
  const refresh = () => queries.invalidateQueries({ queryKey: keys.mySessions });
  const end = async (id: string) => {
    await body(client.DELETE('/api/v1/me/sessions/{session_id}', { params: { path: { session_id: id } } }));
    await refresh();
  };
  const endOthers = async () => {
    await body(client.POST('/api/v1/me/sessions/revoke-others'));
    await refresh();
  };
  const name = (session: OpenSession) => browserOf(session.user_agent) ?? t('profile.sessions.unknownBrowser');
  const endButton = (session: OpenSession) =>
    session.current ? (
      <span className="text-3 small">{t('profile.sessions.thisOne')}</span>
    ) : (
      <Button size="small" danger onClick={() => void end(session.id)}>
        {t('profile.sessions.end')}
      </Button>
    );
  return (
    <Page
      {...frame}
      answer={
        rows ? (
          <AnswerLine
            consequence={others > 0 ? t('profile.sessions.others', { count: others }) : t('profile.sessions.onlyHere')}
          >
            {t('profile.sessions.answer', { count: rows.length })}
          </AnswerLine>
        ) : (
          <SkeletonAnswer />
        )
      }
      actions={
        <>
          <AsCommand api="GET /api/v1/me/sessions" />
          {others > 0 && (
            <Button danger onClick={() => setEndingOthers(true)}>
              {t('profile.sessions.endOthers', { count: others })}
            </Button>
          )}
        </>
      }
    >
      {sessions.error ? (
        <ErrorState error={sessions.error} what={t('profile.sessions.tab')} onRetry={() => void sessions.refetch()} />
      ) : (
        <DataTable
          label={t('profile.sessions.tab')}
          rows={rows}
          empty={null}
          columns={[
            {
              title: t('profile.sessions.browser'),
              render: (_, session) => <span className="strong">{name(session)}</span>,
            },
            {
              title: t('profile.sessions.address'),
              render: (_, session) => <span className="text-2">{session.address}</span>,
            },
            {
              title: t('profile.sessions.signedIn'),
              render: (_, session) => <span className="text-2">{moment(session.created_at)}</span>,
            },
            {
              title: t('profile.sessions.lastSeen'),
              render: (_, session) => (
                <span className="text-2">{session.current ? t('time.now') : ago(session.last_seen_at)}</span>
              ),
            },
            { title: '', align: 'right', render: (_, session) => endButton(session) },
          ]}
          phoneRow={(session) => (
            <div className="row" style={{ border: 0, padding: 0 }}>
              <div className="grow">
                <div className="strong">{name(session)}</div>
                <div className="small text-2">{session.address}</div>
                <div className="small text-3">{session.current ? t('time.now') : ago(session.last_seen_at)}</div>
              </div>
              {endButton(session)}
            </div>
          )}
        />
      )}
      <ConfirmByName
        open={endingOthers}
        title={t('profile.sessions.endOthersTitle', { count: others })}
        text={t('profile.sessions.endOthersText')}
        action={t('profile.sessions.endOthers', { count: others })}
        keep={t('profile.sessions.keep')}
        onConfirm={endOthers}
        onClose={() => setEndingOthers(false)}
      />
    </Page>
  );
}
