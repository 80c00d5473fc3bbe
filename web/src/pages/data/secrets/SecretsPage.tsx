import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Secret } from '../../../api/models';
import { AsCommand } from '../../../components/AsCommand';
import { DataTable } from '../../../components/DataTable';
import { PlusIcon } from '../../../components/icons';
import { ConfirmByName } from '../../../components/Modals';
import { AnswerLine, Page } from '../../../components/Page';
import { EmptyState, ErrorState, SkeletonAnswer } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../../organisation/organisation.css';
import '../data.css';
import { secretsQuery } from '../queries';
import { SecretForm } from './SecretForm';

/** What one's own work is given and nobody is shown: names here, values never again. */
export default function SecretsPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const queries = useQueryClient();
  const [url, change] = useUrlState();
  const secrets = useQuery(secretsQuery);
  const [deleting, setDeleting] = useState<Secret | null>(null);
  const rows = secrets.data;
  const shown = rows?.find((secret) => secret.name === url.secret);
  const close = () => change({ secret: undefined, edit: undefined });
  const create = () => change({ edit: 'new', secret: undefined });
  const refresh = () => queries.invalidateQueries({ queryKey: keys.mySecrets });
  const saved = () => void refresh().then(close);
  return (
    <Page
      title={t('menu.secrets')}
      crumbs={[{ title: t('menu.data') }]}
      answer={
        secrets.error ? null : rows ? (
          <AnswerLine consequence={t('secrets.consequence')}>{t('secrets.answer', { count: rows.length })}</AnswerLine>
        ) : (
          <SkeletonAnswer />
        )
      }
      actions={
        <>
          {!phone && <AsCommand cli="corral secret list" api="GET /api/v1/me/secrets" />}
          <Button type="primary" icon={<PlusIcon />} onClick={create}>
            {t('secrets.new')}
          </Button>
        </>
      }
      panel={
        url.edit === 'new' ? (
          <SecretForm key="new" secret={null} taken={rows ?? []} onSaved={saved} onClose={close} onDelete={undefined} />
        ) : shown ? (
          <SecretForm
            key={shown.name}
            secret={shown}
            taken={[]}
            onSaved={saved}
            onClose={close}
            onDelete={() => setDeleting(shown)}
          />
        ) : null
      }
    >
      {secrets.error ? (
        <ErrorState error={secrets.error} what={t('menu.secrets')} onRetry={() => void secrets.refetch()} />
      ) : (
        <SecretTable
          rows={rows}
          open={shown?.name ?? null}
          onOpen={(name) => change({ secret: name, edit: undefined })}
          onNew={create}
        />
      )}
      <ConfirmByName
        open={deleting !== null}
        title={t('secrets.deleteTitle', { name: deleting?.name })}
        text={t('secrets.deleteText')}
        action={t('secrets.delete')}
        keep={t('secrets.keep')}
        onConfirm={async () => {
          await body(client.DELETE('/api/v1/me/secrets/{name}', { params: { path: { name: deleting?.name ?? '' } } }));
          close();
          await refresh();
        }}
        onClose={() => setDeleting(null)}
      />
    </Page>
  );
}

/** As a variable is usually written: hf-token is HF_TOKEN. */
const variableOf = (name: string): string =>
  name
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_');

function SecretTable({
  rows,
  open,
  onOpen,
  onNew,
}: {
  rows: Secret[] | undefined;
  open: string | null;
  onOpen: (name: string) => void;
  onNew: () => void;
}) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const replaced = (secret: Secret) => (secret.changed_at === secret.created_at ? '' : moment(secret.changed_at));
  return (
    <DataTable
      label={t('menu.secrets')}
      rows={rows?.map((secret) => ({ ...secret, id: secret.name }))}
      skeletonRows={4}
      openId={open}
      onOpen={(secret) => onOpen(secret.name)}
      empty={
        <EmptyState
          title={t('secrets.none')}
          text={t('secrets.noneText')}
          command="corral secret create hf-token"
          actions={<Button onClick={onNew}>{t('secrets.new')}</Button>}
        />
      }
      columns={[
        { title: t('field.name'), width: '24%', render: (_, secret) => <span className="strong">{secret.name}</span> },
        {
          title: t('secrets.inCommand'),
          ellipsis: true,
          render: (_, secret) => (
            <code className="mono text-2">{`--secret ${variableOf(secret.name)}=${secret.name}`}</code>
          ),
        },
        {
          title: t('secrets.set'),
          width: 148,
          align: 'right',
          render: (_, secret) => <span className="text-2 nowrap">{moment(secret.created_at)}</span>,
        },
        {
          title: t('secrets.replaced'),
          width: 148,
          align: 'right',
          render: (_, secret) => <span className="text-2 nowrap">{replaced(secret)}</span>,
        },
      ]}
      phoneRow={(secret) => (
        <div style={{ textAlign: 'left' }}>
          <div className="strong">{secret.name}</div>
          <div className="small text-2">
            {replaced(secret)
              ? t('secrets.replacedAt', { time: replaced(secret) })
              : t('secrets.setAt', { time: moment(secret.created_at) })}
          </div>
        </div>
      )}
    />
  );
}
