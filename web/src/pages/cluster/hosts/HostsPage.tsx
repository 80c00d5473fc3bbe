import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keysOfKind } from '../../../api/keys';
import type { Host } from '../../../api/models';
import { AsCommand } from '../../../components/AsCommand';
import { ConfirmByName } from '../../../components/Modals';
import { AnswerLine, Page } from '../../../components/Page';
import { ErrorState, SkeletonAnswer } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../../organisation/organisation.css';
import '../cluster.css';
import { hostsQuery, zonesQuery } from '../queries';
import { HostPanel } from './HostPanel';
import { HostTable } from './HostTable';

/** Whether a host still reports, and what it drives, changes without an event. */
const REPORTS_MS = 10_000;

/** The machines on which a Corral of this database runs. */
export default function HostsPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const [url, change] = useUrlState();
  const queries = useQueryClient();
  const hosts = useQuery({ ...hostsQuery, refetchInterval: REPORTS_MS });
  const zones = useQuery({ ...zonesQuery, refetchInterval: REPORTS_MS });
  const [deleting, setDeleting] = useState<Host | null>(null);
  const opened = hosts.data?.find((one) => one.id === url.open);
  const close = () => change({ open: undefined });
  const drives = (host: Host) => (zones.data ?? []).filter((zone) => zone.driven_by === host.name);
  const error = hosts.error ?? zones.error;
  return (
    <Page
      title={t('menu.hosts')}
      crumbs={[{ title: t('menu.cluster') }]}
      answer={error ? null : <Answer hosts={hosts.data} />}
      actions={!phone && <AsCommand cli="corral host list" api="GET /api/v1/hosts" />}
      panel={
        opened ? (
          <HostPanel
            key={opened.id}
            host={opened}
            zones={drives(opened)}
            onClose={close}
            onDelete={() => setDeleting(opened)}
          />
        ) : null
      }
    >
      {error ? (
        <ErrorState
          error={error}
          what={t('menu.hosts')}
          onRetry={() => void Promise.all([hosts.refetch(), zones.refetch()])}
        />
      ) : (
        <>
          <p className="effect">{t('hosts.note')}</p>
          <HostTable
            hosts={hosts.data}
            drives={drives}
            narrow={opened !== undefined}
            openId={opened?.id ?? null}
            onOpen={(id) => change({ open: id })}
          />
        </>
      )}
      <ConfirmByName
        open={deleting !== null}
        title={t('hosts.deleteTitle', { name: deleting?.name })}
        text={t('hosts.deleteText')}
        name={deleting?.name}
        action={t('hosts.delete')}
        keep={t('hosts.keep')}
        onConfirm={async () => {
          if (!deleting) return;
          await body(client.DELETE('/api/v1/hosts/{host_id}', { params: { path: { host_id: deleting.id } } }));
          close();
          await Promise.all(keysOfKind('host').map((queryKey) => queries.invalidateQueries({ queryKey })));
        }}
        onClose={() => setDeleting(null)}
      />
    </Page>
  );
}

function Answer({ hosts }: { hosts: Host[] | undefined }) {
  const { t } = useTranslation();
  const { sentences } = useFormat();
  if (!hosts) return <SkeletonAnswer />;
  const silent = hosts.filter((one) => one.state === 'silent').map((one) => one.name);
  return (
    <AnswerLine
      consequence={sentences([
        silent.length === 0
          ? t('hosts.allUp')
          : t('hosts.silentHosts', { count: silent.length, names: silent.join(t('people.comma')) }),
      ])}
    >
      {t('hosts.answer', { count: hosts.length })}
    </AnswerLine>
  );
}
