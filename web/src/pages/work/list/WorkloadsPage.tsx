import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { nextPage } from '../../../api/next-page';
import { useMay } from '../../../api/session';
import { AsCommand } from '../../../components/AsCommand';
import { PlusIcon } from '../../../components/icons';
import { AnswerLine, Page } from '../../../components/Page';
import { ErrorState, SkeletonAnswer } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { launchable } from '../../../kinds';
import type { KindPlug } from '../../../kinds/plug';
import { useLookingAt } from '../../../shell/looking-at';
import { usePhone } from '../../../theme/preferences';
import '../../organisation/organisation.css';
import '../work.css';
import { secondsBetween, useNow } from '../now';
import { summaryQuery, workloadsQuery, type WorkloadFilters } from '../queries';
import { commandOf, useWorkloadFilters } from './filters';
import { NothingMatches, TeachRunning } from './NoWork';
import { WorkloadBulkBar } from './WorkloadBulkBar';
import { WorkloadFilterBar } from './WorkloadFilterBar';
import { WorkloadTable } from './WorkloadTable';

/** What runs, what waits and what broke: all of it, or all of one kind. */
export function WorkloadsPage({ plug }: { plug?: KindPlug }) {
  const { t } = useTranslation();
  const may = useMay();
  const phone = usePhone();
  const navigate = useNavigate();
  const kind = plug?.kind;
  const title = t(plug?.home.name ?? 'menu.allWorkloads');
  const { filters, narrowed } = useWorkloadFilters(kind);
  const work = useInfiniteQuery(workloadsQuery(filters));
  const lookName = useLookingAt().organisation?.name;
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const rows = work.data?.pages.flatMap(({ items }) => items);
  const selected = rows?.filter((row) => chosen.includes(row.id)) ?? [];
  return (
    <Page
      title={title}
      crumbs={[{ title: t('menu.work') }]}
      live
      answer={<Answer filters={filters} plug={plug} />}
      actions={
        <>
          {!phone && <AsCommand {...commandOf(filters, lookName)} />}
          {may('workloads.run') && <LaunchButtons kinds={plug ? [plug] : launchable} />}
        </>
      }
      foot={!phone && selected.length > 0 && <WorkloadBulkBar work={selected} onDone={() => setChosen([])} />}
    >
      <WorkloadFilterBar ofEveryKind={!plug} />
      {work.error ? (
        <ErrorState error={work.error} what={title} onRetry={() => void work.refetch()} />
      ) : (
        <WorkloadTable
          label={title}
          rows={rows}
          chosen={chosen}
          onChoose={setChosen}
          onOpen={(id) => void navigate({ to: `/workloads/${id}` })}
          empty={narrowed || lookName ? <NothingMatches ofEveryKind={!plug} /> : <TeachRunning />}
          more={work.hasNextPage ? { load: () => void nextPage(work), loading: work.isFetchingNextPage } : undefined}
        />
      )}
    </Page>
  );
}

/** What can be launched from here; at most one of them is the primary button. */
function LaunchButtons({ kinds }: { kinds: readonly KindPlug[] }) {
  const { t } = useTranslation();
  return kinds.map(
    ({ kind, launch }, index) =>
      launch && (
        <Link key={kind} to={launch.path}>
          <Button type={index === 0 ? 'primary' : 'default'} icon={<PlusIcon />} block>
            {t(launch.name)}
          </Button>
        </Link>
      ),
  );
}

/** Counts all states of what matches the other filters; of what those leave out it says nothing. */
function Answer({ filters, plug }: { filters: WorkloadFilters; plug: KindPlug | undefined }) {
  const { t } = useTranslation();
  const { number, duration } = useFormat();
  const now = useNow();
  const { data, error } = useQuery(summaryQuery(filters));
  if (error) return null; // The list below says what is wrong.
  if (!data) return <SkeletonAnswer />;
  const of = (...states: string[]) =>
    states.reduce((sum, state) => sum + ((data.states as Record<string, number>)[state] ?? 0), 0);
  const counted = (
    counts: [
      key: 'running' | 'starting' | 'waiting' | 'infeasible' | 'suspended' | 'failed' | 'succeeded' | 'stopped',
      count: number,
    ][],
  ) =>
    counts
      .filter(([, count]) => count > 0)
      .map(([key, count]) => t(`work.count.${key}`, { number: number(count) }))
      .join(t('work.comma'));
  const live = counted([
    ['running', of('running')],
    ['starting', of('starting')],
    ['waiting', of('queued')],
    ['infeasible', of('infeasible')],
    ['suspended', of('suspended', 'suspending')],
  ]);
  const over = counted([
    ['failed', of('failed')],
    ['succeeded', of('succeeded')],
    ['stopped', of('stopped', 'stopping')],
  ]);
  const consequence = !live
    ? undefined
    : data.waits_since
      ? t('work.longestWait', { duration: duration(secondsBetween(data.waits_since, now)) })
      : t('work.nothingWaits');
  const narrowed = Boolean(
    filters.search ?? filters.user_id ?? filters.organisation_id ?? (plug ? undefined : filters.kind),
  );
  const nothing = narrowed
    ? over
      ? 'work.nothingMatchingRuns'
      : 'work.nothingMatches'
    : (plug?.idle ?? 'work.nothingRuns');
  return (
    <AnswerLine consequence={consequence} detail={over && t('work.ended', { counts: over })}>
      {live ? t('work.answer', { counts: live }) : t(nothing)}
    </AnswerLine>
  );
}
