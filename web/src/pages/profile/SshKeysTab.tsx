import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../api/client';
import { keys } from '../../api/keys';
import type { SshKey } from '../../api/models';
import { AsCommand } from '../../components/AsCommand';
import { DataTable } from '../../components/DataTable';
import { PlusIcon } from '../../components/icons';
import { ConfirmByName } from '../../components/Modals';
import { AnswerLine, Page } from '../../components/Page';
import { SidePanel } from '../../components/SidePanel';
import { EmptyState, ErrorState, ProblemNotice, SkeletonAnswer } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';
import { useFormat } from '../../i18n/format';
import { useUrlState } from '../../shell/url-state';
import type { TabProps } from './ProfilePage';

/** SSH public keys of the account. */
export function SshKeysTab(frame: TabProps) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [{ edit }, change] = useUrlState();
  const adding = edit === 'new';
  const setAdding = (open: boolean) => change({ edit: open ? 'new' : undefined });
  const [removing, setRemoving] = useState<SshKey | null>(null);
  const sshKeys = useQuery({
    queryKey: keys.mySshKeys,
    queryFn: async () => (await body(client.GET('/api/v1/me/ssh-keys'))).items,
  });
  const rows = sshKeys.data;
  const refresh = () => queries.invalidateQueries({ queryKey: keys.mySshKeys });
  return (
    <Page
      {...frame}
      answer={
        rows ? (
          <AnswerLine consequence={t('profile.sshKeys.what')}>
            {t('profile.sshKeys.answer', { count: rows.length })}
          </AnswerLine>
        ) : (
          <SkeletonAnswer />
        )
      }
      actions={
        <>
          <AsCommand cli="corral ssh-key list" api="GET /api/v1/me/ssh-keys" />
          <Button type="primary" icon={<PlusIcon />} onClick={() => setAdding(true)}>
            {t('profile.sshKeys.add')}
          </Button>
        </>
      }
      panel={
        adding && (
          <SidePanel
            title={t('profile.sshKeys.add')}
            subtitle={t('profile.sshKeys.addNote')}
            onClose={() => setAdding(false)}
          >
            <SshKeyForm
              onAdded={() => {
                setAdding(false);
                void refresh();
              }}
            />
          </SidePanel>
        )
      }
    >
      {sshKeys.error ? (
        <ErrorState error={sshKeys.error} what={t('profile.sshKeys.tab')} onRetry={() => void sshKeys.refetch()} />
      ) : (
        <SshKeyTable rows={rows} onRemove={setRemoving} onAdd={() => setAdding(true)} />
      )}
      <ConfirmByName
        open={removing !== null}
        title={t('profile.sshKeys.removeTitle', { title: removing?.title })}
        text={t('profile.sshKeys.removeText')}
        action={t('profile.sshKeys.remove')}
        keep={t('profile.sshKeys.keep')}
        onConfirm={async () => {
          await body(
            client.DELETE('/api/v1/me/ssh-keys/{ssh_key_id}', { params: { path: { ssh_key_id: removing?.id ?? '' } } }),
          );
          await refresh();
        }}
        onClose={() => setRemoving(null)}
      />
    </Page>
  );
}

function SshKeyTable({
  rows,
  onRemove,
  onAdd,
}: {
  rows: SshKey[] | undefined;
  onRemove: (key: SshKey) => void;
  onAdd: () => void;
}) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const remove = (key: SshKey) => (
    <Button size="small" danger onClick={() => onRemove(key)}>
      {t('profile.sshKeys.remove')}
    </Button>
  );
  return (
    <DataTable
      label={t('profile.sshKeys.tab')}
      rows={rows}
      empty={
        <EmptyState
          title={t('profile.sshKeys.none')}
          text={t('profile.sshKeys.noneText')}
          command="ssh-keygen -t ed25519"
          actions={
            <Button type="primary" onClick={onAdd}>
              {t('profile.sshKeys.add')}
            </Button>
          }
        />
      }
      columns={[
        { title: t('field.title'), render: (_, key) => <span className="strong">{key.title}</span> },
        {
          title: t('profile.sshKeys.fingerprint'),
          render: (_, key) => <span className="mono text-2">{key.fingerprint}</span>,
        },
        {
          title: t('profile.sshKeys.added'),
          render: (_, key) => <span className="text-2 nowrap">{moment(key.created_at)}</span>,
        },
        { title: '', align: 'right', render: (_, key) => remove(key) },
      ]}
      phoneRow={(key) => (
        <div className="row" style={{ border: 0, padding: 0 }}>
          <div className="grow">
            <div className="strong">{key.title}</div>
            <div className="mono text-2" style={{ overflowWrap: 'anywhere' }}>
              {key.fingerprint}
            </div>
            <div className="small text-3">{moment(key.created_at)}</div>
          </div>
          {remove(key)}
        </div>
      )}
    />
  );
}

interface Values {
  title: string;
  public_key: string;
}

function SshKeyForm({ onAdded }: { onAdded: () => void }) {
  const { t } = useTranslation();
  const [form] = Form.useForm<Values>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ title, public_key }: Values) =>
      body(
        client.POST('/api/v1/me/ssh-keys', {
          body: { title: title.trim(), public_key: public_key.trim() },
          params: { header: idempotencyKey() },
        }),
      ),
    onAdded,
  );
  // The comment at the end of a key ("ada@laptop") is the title most people want.
  const suggestTitle = (value: string) => {
    const comment = value.trim().split(/\s+/)[2];
    if (comment && !form.getFieldValue('title')) form.setFieldValue('title', comment);
  };
  return (
    <Form<Values> form={form} layout="vertical" onFinish={submit}>
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item
        name="public_key"
        label={t('profile.sshKeys.publicKey')}
        extra={t('profile.sshKeys.publicKeyHint')}
        rules={[
          { required: true, whitespace: true, message: t('form.needed', { field: t('profile.sshKeys.publicKey') }) },
        ]}
      >
        <Input.TextArea
          className="mono"
          rows={6}
          spellCheck={false}
          onChange={(event) => suggestTitle(event.target.value)}
        />
      </Form.Item>
      <Form.Item
        name="title"
        label={t('field.title')}
        rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('field.title') }) }]}
      >
        <Input maxLength={64} />
      </Form.Item>
      <Button type="primary" htmlType="submit" disabled={busy}>
        {t('profile.sshKeys.add')}
      </Button>
    </Form>
  );
}
