import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import type { AuditEntry } from '../../api/models';
import { AsCommand } from '../../components/AsCommand';
import { Section } from '../../components/Page';
import { SidePanel } from '../../components/SidePanel';
import { ErrorState, Notice, SkeletonRows } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { useUrlState } from '../../shell/url-state';
import { Diff } from './Diff';
import { useAuditWords } from './words';

/** One entry whole: what changed field by field, and by which credential and request. */
export function EntryPanel({ id, known, onClose }: { id: string; known: AuditEntry | undefined; onClose: () => void }) {
  const { t } = useTranslation();
  const words = useAuditWords();
  const {
    data: entry,
    error,
    refetch,
  } = useQuery({
    queryKey: ['audit-entry', id],
    queryFn: () => body(client.GET('/api/v1/audit/{id}', { params: { path: { id } } })),
    initialData: known,
    staleTime: Infinity,
  });
  return (
    <SidePanel
      title={entry ? words.actionTitle(entry.action) : t('audit.entry')}
      subtitle={entry && words.on(entry)}
      onClose={onClose}
    >
      {error && <ErrorState error={error} what={t('audit.entry')} onRetry={() => void refetch()} />}
      {!entry && !error && <SkeletonRows rows={6} height={40} />}
      {entry && <Entry entry={entry} />}
    </SidePanel>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation();
  const { clock, day } = useFormat();
  const [, change] = useUrlState();
  const words = useAuditWords();
  const credential = entry.via.split(':')[1];
  const facts: [string, string | null][] = [
    [t('audit.when'), `${day(entry.at)} ${clock(entry.at, true)}`],
    [t('audit.who'), words.who(entry)],
    [
      t('audit.onWhat'),
      entry.object_name ? `${words.kind(entry.object_kind)} ${entry.object_name}` : words.kind(entry.object_kind),
    ],
    [t('audit.where'), words.where(entry)],
    [t('audit.signedInBy'), words.via(entry)],
    [t('audit.address'), entry.address],
  ];
  const ids: [string, string | undefined][] = [
    [t('audit.requestId'), entry.request_id],
    [t('audit.credential'), credential],
    [t('audit.entryId'), entry.id],
  ];
  return (
    <>
      {entry.result === 'refused' && <Notice tone="warning">{entry.reason ?? t('state.refused')}</Notice>}
      <div className="panel-actions">
        {entry.actor_id && (
          <Button size="small" onClick={() => change({ actor: entry.actor_id })}>
            {t('audit.onlyActor')}
          </Button>
        )}
        {entry.object_id && (
          <Button
            size="small"
            onClick={() => change({ object: entry.object_id, name: entry.object_name || undefined })}
          >
            {t('audit.onlyObject')}
          </Button>
        )}
        <AsCommand size="small" cli={`corral audit show ${entry.id}`} api={`GET /api/v1/audit/${entry.id}`} />
      </div>
      <Section title={t('audit.changes')}>
        <Diff before={entry.before} after={entry.after} />
      </Section>
      <Section title={t('audit.circumstances')}>
        <dl className="facts">
          {facts
            .filter(([, value]) => value)
            .map(([name, value]) => (
              <Fact key={name} name={name}>
                {value}
              </Fact>
            ))}
          {ids.map(
            ([name, value]) =>
              value && (
                <Fact key={name} name={name}>
                  <span className="mono facts-small" style={{ userSelect: 'all' }}>
                    {value}
                  </span>
                </Fact>
              ),
          )}
        </dl>
      </Section>
    </>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
