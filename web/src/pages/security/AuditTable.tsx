import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { AuditEntry } from '../../api/models';
import { DataTable, WIDE } from '../../components/DataTable';
import { StatusChip } from '../../components/StatusChip';
import { useFormat } from '../../i18n/format';
import { useAuditWords } from './words';

interface Props {
  entries: AuditEntry[] | undefined;
  openId: string | null;
  onOpen: (id: string) => void;
  more: { load: () => void; loading: boolean; words: string } | undefined;
  empty: ReactNode;
  /** An entry is open beside the table and shows the rest. */
  narrow: boolean;
}

export function AuditTable({ entries, openId, onOpen, more, empty, narrow }: Props) {
  const { t } = useTranslation();
  const when = useWhen();
  const words = useAuditWords();
  return (
    <DataTable
      label={t('menu.auditLog')}
      rows={entries}
      skeletonRows={14}
      openId={openId}
      onOpen={(entry) => onOpen(entry.id)}
      more={more}
      empty={empty}
      columns={[
        {
          title: t('audit.when'),
          width: 112,
          render: (_, entry) => <span className="text-2 nowrap">{when(entry.at)}</span>,
        },
        {
          title: t('audit.who'),
          width: '16%',
          ellipsis: true,
          render: (_, entry) => <span className="strong">{words.who(entry)}</span>,
        },
        { title: t('audit.what'), ellipsis: true, render: (_, entry) => words.action(entry.action) },
        { title: t('audit.onWhat'), ellipsis: true, render: (_, entry) => words.on(entry) },
        ...(narrow
          ? []
          : [
              {
                title: t('audit.where'),
                ellipsis: true,
                responsive: WIDE,
                render: (_: unknown, entry: AuditEntry) => <span className="text-2">{words.where(entry)}</span>,
              },
            ]),
        { title: t('audit.result'), width: 108, render: (_, entry) => <Result entry={entry} /> },
        ...(narrow
          ? []
          : [
              {
                title: t('audit.address'),
                width: 124,
                align: 'right' as const,
                responsive: WIDE,
                render: (_: unknown, entry: AuditEntry) => <span className="text-2">{entry.address}</span>,
              },
            ]),
      ]}
      phoneRow={(entry) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 20 }}>
            <span className="small text-2 grow">{when(entry.at)}</span>
            <Result entry={entry} />
          </div>
          <div>
            <span className="strong">{words.who(entry)}</span> {words.action(entry.action)}{' '}
            {entry.actor_id === entry.object_id ? null : words.on(entry)}
          </div>
          <div className="small text-2">{words.where(entry)}</div>
        </div>
      )}
    />
  );
}

/** Most entries are done; those that were refused stand out. */
function Result({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation();
  return entry.result === 'refused' ? (
    <StatusChip state="refused" />
  ) : (
    <span className="text-2">{t('state.done')}</span>
  );
}

/** To the second today, for what happens close together; with the day before that. */
function useWhen(): (at: string) => string {
  const { clock, moment } = useFormat();
  return (at) => (new Date(at).toDateString() === new Date().toDateString() ? clock(at, true) : moment(at));
}
