import { useQuery } from '@tanstack/react-query';
import { Button, Select } from 'antd';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Queues, Resource } from '../../../api/models';
import { AsCommand } from '../../../components/AsCommand';
import { AnswerLine, Page } from '../../../components/Page';
import { EmptyState, ErrorState, Notice, SkeletonAnswer } from '../../../components/States';
import { SearchField } from '../../../components/SearchField';
import { useUnsaved } from '../../../components/unsaved';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../../organisation/organisation.css';
import { useAmounts } from '../amounts';
import '../cluster.css';
import { queuesQuery } from '../queries';
import { usePoolWords } from '../zones';
import { quotaOf, type Drafts, type View } from './drafts';
import { EffectBar } from './EffectBar';
import { guaranteesOf } from './guarantees';
import { QueueLegend } from './QueueBar';
import { QueuePanel } from './QueuePanel';
import { QueueTable } from './QueueTable';
import { aboveOf, flattened, found, inSeveralZones, queueTree } from './tree';
import { useVerdict } from './useVerdict';
import { useWarningWords } from './warning-words';

const RESOURCES: readonly Resource[] = ['gpu_milli', 'cpu_milli', 'memory_mib'];

/** Who is entitled to what, and where more is promised than there is; several numbers are changed at once. */
export default function QueuesPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const [url, change] = useUrlState();
  const { data, error, refetch } = useQuery(queuesQuery);
  const [drafts, setDrafts] = useState<Drafts>({});
  // Fields of a panel begin anew when drafts are given up.
  const [round, setRound] = useState(0);
  const view = data && viewOf(data, url.pool, url.resource);
  const tree = useMemo(() => data && queueTree(data.items), [data]);
  const shown = useMemo(() => tree && found(tree, url.search ?? ''), [tree, url.search]);
  const pool = data?.pools.find((one) => one.id === view?.pool);
  const measured = data?.items.some((queue) => queue.quotas.some((quota) => quota.used !== null)) ?? false;
  const rows = shown && (phone ? flattened(shown).map((node) => ({ ...node, children: undefined })) : shown);
  const editing = Object.keys(drafts).length > 0;
  useUnsaved(() => editing);
  const verdict = useVerdict(drafts);
  const poolWords = usePoolWords(inSeveralZones(data?.pools ?? []));
  const all = useMemo(() => flattened(tree ?? []), [tree]);
  const open = all.find((queue) => queue.id === url.queue);
  const changeable = !phone && (data?.items.some((queue) => queue.may_change) ?? false);
  return (
    <Page
      title={t('menu.queues')}
      crumbs={[{ title: t('menu.cluster') }]}
      answer={error ? null : <Answer data={data} view={view} />}
      actions={!phone && <AsCommand cli="corral queue list" api="GET /api/v1/queues" />}
      panel={
        open &&
        view && (
          <QueuePanel
            key={`${open.id} ${open.generation} ${round}`}
            queue={open}
            above={aboveOf(all, open)}
            view={view}
            drafts={drafts}
            onDraft={changeable ? setDrafts : undefined}
            onClose={() => change({ queue: undefined })}
          />
        )
      }
      foot={
        editing && view && !phone ? (
          <EffectBar
            drafts={drafts}
            verdict={verdict}
            view={view}
            onDiscard={() => {
              setDrafts({});
              setRound((before) => before + 1);
            }}
            onSaved={() => setDrafts({})}
          />
        ) : undefined
      }
    >
      {error ? (
        <ErrorState error={error} what={t('menu.queues')} onRetry={() => void refetch()} />
      ) : (
        <>
          {phone && data?.items.some((queue) => queue.may_change) && <p className="effect">{t('queues.viewOnly')}</p>}
          {data && view && (
            <div className="filters queue-filters">
              <Select
                aria-label={t('queues.poolAndWhat')}
                popupMatchSelectWidth={false}
                value={`${view.pool} ${view.resource}`}
                onChange={(chosen: string) => {
                  const [pool_id, resource] = chosen.split(' ');
                  change({ pool: pool_id, resource });
                }}
                options={data.pools.flatMap((one) =>
                  RESOURCES.map((resource) => ({
                    value: `${one.id} ${resource}`,
                    label: t(
                      one.simulated && resource === 'gpu_milli' ? 'queues.poolWhatSimulated' : 'queues.poolWhat',
                      { pool: poolWords(one.zone_name, one.name), what: t(`queues.what.${resource}`) },
                    ),
                  })),
                )}
              />
              <SearchField label={t('queues.find')} />
              <QueueLegend
                measured={measured}
                waits={data.items.some((queue) => queue.quotas.some((quota) => quota.wanted !== null))}
                shared={data.items.some((queue) => queue.quotas.some((quota) => quota.fair_share !== null))}
              />
            </div>
          )}
          {data && !phone && !editing && <Warnings data={data} />}
          {view && pool ? (
            <QueueTable
              tree={rows}
              view={view}
              size={pool.capacity[view.resource] || widest(data, view)}
              measured={measured}
              over={
                new Set(
                  data.warnings
                    .filter((one) => one.pool_id === view.pool && one.resource === view.resource)
                    .map((one) => one.queue_id),
                )
              }
              drafts={drafts}
              effects={verdict.data?.effects ?? []}
              openId={open?.id ?? null}
              onOpen={(id) => change({ queue: id })}
              narrow={open !== undefined}
              onDraft={changeable ? setDrafts : undefined}
              empty={
                <EmptyState
                  title={t('queues.noneFound', { search: url.search })}
                  text={t('queues.noneFoundText')}
                  actions={<Button onClick={() => change({ search: undefined })}>{t('queues.clearSearch')}</Button>}
                />
              }
            />
          ) : (
            !data && (
              <QueueTable
                tree={undefined}
                view={{ pool: '', resource: 'gpu_milli' }}
                size={0}
                measured={false}
                over={new Set()}
                drafts={{}}
                effects={[]}
                openId={null}
                onOpen={() => undefined}
                narrow={false}
                onDraft={undefined}
                empty={null}
              />
            )
          )}
          {data?.items.length === 1 && (
            <EmptyState
              title={t('queues.onlyRoot')}
              text={t('queues.onlyRootText')}
              command='corral queue edit "Vision Lab" gpu.guarantee=2 gpu.limit=4'
            />
          )}
        </>
      )}
    </Page>
  );
}

/** The pool and the resource of the address; GPUs where there are any. */
function viewOf(data: Queues, poolId: string | undefined, wanted: string | undefined): View | undefined {
  const pool = data.pools.find((one) => one.id === poolId) ?? data.pools[0];
  if (!pool) return undefined;
  const resource = RESOURCES.find((one) => one === wanted) ?? (pool.capacity.gpu_milli > 0 ? 'gpu_milli' : 'cpu_milli');
  return { pool: pool.id, resource };
}

/** Where a pool has nothing yet, the axis ends at the largest number that was set. */
const widest = (data: Queues | undefined, view: View): number =>
  Math.max(
    0,
    ...(data?.items ?? []).map((queue) =>
      Math.max(quotaOf(queue, view)?.guarantee ?? 0, quotaOf(queue, view)?.limit ?? 0),
    ),
  );

function Answer({ data, view }: { data: Queues | undefined; view: View | undefined }) {
  const { t } = useTranslation();
  const { plain, told } = useAmounts();
  if (!data) return <SkeletonAnswer />;
  const found = view && guaranteesOf(data, view);
  if (!view || !found) return <AnswerLine>{t('queues.none')}</AnswerLine>;
  const { top, has, promised, nobody } = found;
  const over = data.warnings.length;
  const borrowing = data.items
    .filter((queue) => queue.parent_id === top.id && quotaOf(queue, view)?.used != null)
    .map((queue) => Math.max(0, (quotaOf(queue, view)?.used ?? 0) - Math.max(0, quotaOf(queue, view)?.guarantee ?? 0)))
    .filter((amount) => amount > 0);
  const borrowed = borrowing.reduce((sum, amount) => sum + amount, 0);
  const consequence =
    over > 0
      ? t('queues.answerOver', { count: over })
      : nobody
        ? t('queues.answerNobody', { name: top.name })
        : borrowed > 0
          ? t('queues.answerBorrows', { count: borrowing.length, amount: told(borrowed, view.resource) })
          : t('queues.answerFine');
  return (
    <AnswerLine consequence={consequence}>
      {t('queues.answer', { promised: plain(promised, view.resource), has: told(has, view.resource) })}
    </AnswerLine>
  );
}

function Warnings({ data }: { data: Queues }) {
  const words = useWarningWords();
  if (data.warnings.length === 0) return null;
  return (
    <Notice tone="warning">
      {data.warnings.slice(0, 4).map((warning) => (
        <div key={`${warning.queue_id} ${warning.pool_id} ${warning.resource} ${warning.kind}`}>{words(warning)}</div>
      ))}
    </Notice>
  );
}
