import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../../api/errors';
import type { WorkloadDetail } from '../../../api/models';
import { AsCommand } from '../../../components/AsCommand';
import { Page } from '../../../components/Page';
import { ErrorState, SkeletonAnswer, SkeletonRows } from '../../../components/States';
import { StatusChip } from '../../../components/StatusChip';
import { TabBar } from '../../../components/TabBar';
import { useFormat } from '../../../i18n/format';
import { plugOf } from '../../../kinds';
import { TABS } from '../../../kinds/plug';
import { useUrlState } from '../../../shell/url-state';
import { NotFoundInShell } from '../../errors/ErrorPages';
import '../work.css';
import { secondsBetween, useNow } from '../now';
import { workloadQuery } from '../queries';
import { isWaiting } from '../states';
import { ConfigurationTab } from './ConfigurationTab';
import { LogTab } from './LogTab';
import { OverviewTab } from './OverviewTab';
import { ReplicasTab } from './ReplicasTab';
import { Troubles } from './Troubles';
import { WhatHappened } from './WhatHappened';
import { OpenApp } from './OpenApp';
import { WorkloadActions } from './WorkloadActions';
import { WorkloadAnswer } from './WorkloadAnswer';
import { WorkloadFacts } from './WorkloadFacts';

/** How it is going and what happened to one workload. */
export default function WorkloadPage() {
  const { t } = useTranslation();
  const { workloadId = '' }: { workloadId?: string } = useParams({ strict: false });
  const { data: work, error, refetch } = useQuery(workloadQuery(workloadId));
  // Of a kind that the console does not know, all workloads are where it is listed.
  const home = work && plugOf(work.kind)?.home;
  const crumbs = [home ? { title: t(home.name), to: home.path } : { title: t('menu.allWorkloads'), to: '/workloads' }];
  if (error instanceof ApiError && error.nowhere) return <NotFoundInShell />;
  if (error && !work) {
    return (
      <Page title={workloadId} crumbs={crumbs}>
        <ErrorState error={error} what={workloadId} onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (!work) {
    return (
      <Page title={workloadId} crumbs={crumbs} answer={<SkeletonAnswer />}>
        <SkeletonRows rows={8} />
      </Page>
    );
  }
  return <Known work={work} crumbs={crumbs} />;
}

function Known({ work, crumbs }: { work: WorkloadDetail; crumbs: { title: string; to: string }[] }) {
  const { t } = useTranslation();
  const [{ tab = 'overview' }] = useUrlState();
  const without = plugOf(work.kind)?.without ?? [];
  const replicas = work.attempts.at(-1)?.replicas.length;
  return (
    <Page
      title={work.name}
      crumbs={crumbs}
      chip={<Chip work={work} />}
      actions={
        <>
          <OpenApp work={work} />
          <WorkloadActions work={work} />
          {/* Last: the end of the header is where Launch was a moment ago, and a second click must not find Stop there. */}
          <AsCommand cli={`corral describe ${work.id}`} api={`GET /api/v1/workloads/${work.id}`} />
        </>
      }
      tabs={
        <TabBar
          label={t('work.tab.label')}
          tabs={TABS.filter((key) => !without.includes(key)).map((key) => ({
            key,
            title: t(`work.tab.${key}`),
            count: key === 'replicas' ? replicas : undefined,
          }))}
        />
      }
      answer={tab === 'overview' && <WorkloadAnswer work={work} />}
      rail={tab === 'overview' && <WhatHappened work={work} />}
    >
      {tab === 'log' ? (
        <LogTab work={work} />
      ) : tab === 'replicas' ? (
        <ReplicasTab work={work} />
      ) : tab === 'configuration' ? (
        <ConfigurationTab work={work} />
      ) : (
        <>
          <Troubles work={work} />
          <WorkloadFacts work={work} />
          <OverviewTab work={work} />
        </>
      )}
    </Page>
  );
}

/** The state; with how long for one that waits. */
function Chip({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  const now = useNow();
  const waits = isWaiting(work.state) && work.waiting_since;
  return (
    <StatusChip
      soft
      state={work.state}
      word={
        waits
          ? t('work.chipFor', { state: t(`state.${work.state}`), duration: duration(secondsBetween(waits, now)) })
          : undefined
      }
    />
  );
}
