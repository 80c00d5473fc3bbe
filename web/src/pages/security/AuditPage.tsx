import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Dropdown } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { AuditEntry } from '../../api/models';
import { nextPage } from '../../api/next-page';
import { AsCommand } from '../../components/AsCommand';
import { AnswerLine, Page } from '../../components/Page';
import { EmptyState, ErrorState, SkeletonAnswer } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { useUrlState } from '../../shell/url-state';
import { usePhone } from '../../theme/preferences';
import '../organisation/organisation.css';
import { AuditFilterBar } from './AuditFilterBar';
import { AuditTable } from './AuditTable';
import { EntryPanel } from './EntryPanel';
import { commandOf, exportAddress, useAuditFilters, type AuditFilters } from './filters';

const PAGE = 50;

/** Who did what to what, when, from where, and how it ended; newest first. */
export default function AuditPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const [url, change] = useUrlState();
  const { filters, narrowed, clear } = useAuditFilters();
  const log = useInfiniteQuery({
    // Not under keys.audit: older pages do not change, and newer entries are counted apart.
    queryKey: ['audit-log', filters],
    queryFn: ({ pageParam, signal }) =>
      body(client.GET('/api/v1/audit', { params: { query: { ...filters, limit: PAGE, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    staleTime: 0,
    refetchOnWindowFocus: false,
    meta: { stays: true },
    placeholderData: (before) => before,
  });
  const entries = log.data?.pages.flatMap((page) => page.items);
  const open = entries?.find((entry) => entry.id === url.entry);
  return (
    <Page
      live
      title={t('menu.auditLog')}
      crumbs={[{ title: t('menu.platform') }, { title: t('menu.security') }]}
      answer={log.error ? null : <Answer entries={entries} more={log.hasNextPage} narrowed={narrowed} />}
      actions={
        <>
          {!phone && <AsCommand {...commandOf(filters)} />}
          <Dropdown
            trigger={['click']}
            menu={{
              items: [
                {
                  key: 'csv',
                  label: (
                    <a href={exportAddress(filters, 'csv')} download>
                      {t('audit.export.csv')}
                    </a>
                  ),
                },
                {
                  key: 'jsonl',
                  label: (
                    <a href={exportAddress(filters, 'jsonl')} download>
                      {t('audit.export.jsonl')}
                    </a>
                  ),
                },
              ],
            }}
          >
            <Button>{t('audit.export.title')}</Button>
          </Dropdown>
        </>
      }
      panel={
        url.entry && (
          <EntryPanel key={url.entry} id={url.entry} known={open} onClose={() => change({ entry: undefined })} />
        )
      }
    >
      <AuditFilterBar />
      {entries && <Newer filters={filters} newest={entries[0]} />}
      {log.error ? (
        <ErrorState error={log.error} what={t('menu.auditLog')} onRetry={() => void log.refetch()} />
      ) : (
        <AuditTable
          entries={entries}
          narrow={Boolean(url.entry) && !phone}
          openId={url.entry ?? null}
          onOpen={(id) => change({ entry: id })}
          more={
            log.hasNextPage
              ? { load: () => void nextPage(log), loading: log.isFetchingNextPage, words: t('audit.older') }
              : undefined
          }
          empty={
            <EmptyState
              title={narrowed ? t('audit.nothingMatches') : t('audit.nothing')}
              text={narrowed ? t('audit.nothingMatchesText') : t('audit.nothingText')}
              actions={narrowed && <Button onClick={clear}>{t('audit.clearAll')}</Button>}
            />
          }
        />
      )}
    </Page>
  );
}

/** What came since the page was read; shown when asked for, so that no row moves under the pointer. */
function Newer({ filters, newest }: { filters: AuditFilters; newest: AuditEntry | undefined }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: [...keys.audit, 'newer', filters, newest?.id ?? null],
    queryFn: async () => {
      const { items } = await body(
        client.GET('/api/v1/audit', {
          params: { query: { ...filters, since: newest?.at ?? filters.since, limit: PAGE } },
        }),
      );
      return items.filter((entry) => entry.id > (newest?.id ?? '')).length;
    },
    staleTime: 0,
    refetchInterval: 30_000,
  });
  if (!data) return null;
  return (
    <p className="newer" role="status">
      <Button size="small" onClick={() => void queries.resetQueries({ queryKey: ['audit-log', filters] })}>
        {t('audit.newer', { count: data })}
      </Button>
    </p>
  );
}

function Answer({ entries, more, narrowed }: { entries: AuditEntry[] | undefined; more: boolean; narrowed: boolean }) {
  const { t } = useTranslation();
  const { ago, moment } = useFormat();
  if (!entries) return <SkeletonAnswer />;
  const newest = entries[0];
  const oldest = entries[entries.length - 1];
  if (!newest || !oldest)
    return <AnswerLine>{narrowed ? t('audit.answer.noMatch') : t('audit.answer.empty')}</AnswerLine>;
  const refused = entries.filter((entry) => entry.result === 'refused').length;
  const words = { count: entries.length, time: moment(oldest.at) };
  return (
    <AnswerLine
      consequence={refused > 0 ? t('audit.answer.refused', { count: refused }) : t('audit.answer.noneRefused')}
      detail={t('audit.answer.newest', { time: ago(newest.at) })}
    >
      {more ? t('audit.answer.some', words) : t('audit.answer.all', words)}
    </AnswerLine>
  );
}
