import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { Token } from '../../api/models';
import { AsCommand } from '../../components/AsCommand';
import { DataTable } from '../../components/DataTable';
import { PlusIcon } from '../../components/icons';
import { ConfirmByName, SecretOnce } from '../../components/Modals';
import { AnswerLine, Page } from '../../components/Page';
import { SidePanel } from '../../components/SidePanel';
import { usePermissionWords } from '../../components/permission-words';
import { EmptyState, ErrorState, SkeletonAnswer } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { useUrlState } from '../../shell/url-state';
import type { TabProps } from './ProfilePage';
import { TokenForm } from './TokenForm';

/** Personal access tokens: what they may, until when, when last used; the secret is shown once. */
export function TokensTab(frame: TabProps) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const queries = useQueryClient();
  const [{ edit }, change] = useUrlState();
  const making = edit === 'new';
  const setMaking = (open: boolean) => change({ edit: open ? 'new' : undefined });
  const [secret, setSecret] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const tokens = useQuery({
    queryKey: keys.myTokens,
    queryFn: async () => (await body(client.GET('/api/v1/me/tokens'))).items,
  });
  const rows = tokens.data;
  const next = [...(rows ?? [])]
    .filter((token) => token.expires_at)
    .sort((a, b) => (a.expires_at ?? '').localeCompare(b.expires_at ?? ''))[0];
  const refresh = () => queries.invalidateQueries({ queryKey: keys.myTokens });
  return (
    <Page
      {...frame}
      answer={
        rows ? (
          <AnswerLine
            consequence={
              next?.expires_at
                ? t('profile.tokens.next', { name: next.name, time: moment(next.expires_at) })
                : t('profile.tokens.what')
            }
          >
            {t('profile.tokens.answer', { count: rows.length })}
          </AnswerLine>
        ) : (
          <SkeletonAnswer />
        )
      }
      actions={
        <>
          <AsCommand cli="corral token list" api="GET /api/v1/me/tokens" />
          <Button type="primary" icon={<PlusIcon />} onClick={() => setMaking(true)}>
            {t('profile.tokens.new')}
          </Button>
        </>
      }
      panel={
        making && (
          <SidePanel
            title={t('profile.tokens.new')}
            subtitle={t('profile.tokens.newNote')}
            onClose={() => setMaking(false)}
          >
            <TokenForm
              onMade={(made) => {
                setMaking(false);
                setSecret(made);
                void refresh();
              }}
            />
          </SidePanel>
        )
      }
    >
      {tokens.error ? (
        <ErrorState error={tokens.error} what={t('profile.tokens.tab')} onRetry={() => void tokens.refetch()} />
      ) : (
        <TokenTable rows={rows} onRevoke={setRevoking} onNew={() => setMaking(true)} />
      )}
      <SecretOnce
        title={t('profile.tokens.secretTitle')}
        text={t('profile.tokens.secretText')}
        secret={secret}
        onClose={() => setSecret(null)}
      />
      <ConfirmByName
        open={revoking !== null}
        title={t('profile.tokens.revokeTitle', { name: revoking?.name })}
        text={t('profile.tokens.revokeText')}
        action={t('profile.tokens.revoke')}
        keep={t('profile.tokens.keep')}
        onConfirm={async () => {
          await body(
            client.DELETE('/api/v1/me/tokens/{token_id}', { params: { path: { token_id: revoking?.id ?? '' } } }),
          );
          await refresh();
        }}
        onClose={() => setRevoking(null)}
      />
    </Page>
  );
}

function TokenTable({
  rows,
  onRevoke,
  onNew,
}: {
  rows: Token[] | undefined;
  onRevoke: (token: Token) => void;
  onNew: () => void;
}) {
  const { t } = useTranslation();
  const { moment, ago } = useFormat();
  const words = usePermissionWords();
  const scopes = (token: Token) =>
    token.scopes.includes('*') ? t('profile.tokens.everything') : token.scopes.map(words).join(t('roles.semicolon'));
  const expiry = (token: Token) => (token.expires_at ? moment(token.expires_at) : t('profile.tokens.never'));
  const used = (token: Token) => (token.last_used_at ? ago(token.last_used_at) : t('profile.tokens.unused'));
  // The token made at start belongs to the command on Corral's own machine and is made again by itself.
  const revoke = (token: Token) =>
    token.local ? (
      <span className="small text-3">{t('profile.tokens.local')}</span>
    ) : (
      <Button size="small" danger onClick={() => onRevoke(token)}>
        {t('profile.tokens.revoke')}
      </Button>
    );
  return (
    <DataTable
      label={t('profile.tokens.tab')}
      rows={rows}
      empty={
        <EmptyState
          title={t('profile.tokens.none')}
          text={t('profile.tokens.noneText')}
          command="corral token create ci --until 30d"
          actions={
            <Button type="primary" onClick={onNew}>
              {t('profile.tokens.new')}
            </Button>
          }
        />
      }
      columns={[
        { title: t('field.name'), render: (_, token) => <span className="strong">{token.name}</span> },
        { title: t('profile.tokens.scopes'), render: (_, token) => <span className="text-2">{scopes(token)}</span> },
        {
          title: t('profile.tokens.expires'),
          render: (_, token) => <span className="text-2 nowrap">{expiry(token)}</span>,
        },
        {
          title: t('profile.tokens.lastUsed'),
          render: (_, token) => <span className="text-2 nowrap">{used(token)}</span>,
        },
        { title: '', align: 'right', render: (_, token) => revoke(token) },
      ]}
      phoneRow={(token) => (
        <div className="row" style={{ border: 0, padding: 0 }}>
          <div className="grow">
            <div className="strong">{token.name}</div>
            <div className="small text-2">{scopes(token)}</div>
            <div className="small text-3">
              {token.expires_at ? t('profile.tokens.until', { time: expiry(token) }) : t('profile.tokens.neverExpires')}
            </div>
          </div>
          {revoke(token)}
        </div>
      )}
    />
  );
}
