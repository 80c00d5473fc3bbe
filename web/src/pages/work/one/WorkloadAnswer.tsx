import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { AnswerLine } from '../../../components/Page';
import { SkeletonAnswer } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { secondsBetween, useNow } from '../now';
import { metricsQuery, whyQuery } from '../queries';
import { isOver } from '../states';
import { useVerdictWords } from '../verdict-words';
import { useReasonWords } from '../words';

/** One sentence with numbers: how it is going, or why it is not. */
export function WorkloadAnswer({ work }: { work: WorkloadDetail }) {
  if (work.state === 'queued' || work.state === 'infeasible' || (work.state === 'suspended' && work.wanted === 'run'))
    return <Waits work={work} />;
  if (work.state === 'running' || work.state === 'starting') return <Runs work={work} />;
  return <Ended work={work} />;
}

function Runs({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { duration, moment, number, sentences } = useFormat();
  const now = useNow(1000);
  const { data: metrics } = useQuery(metricsQuery(work.id, true));
  const nodes = work.nodes.join(', ');
  if (work.state === 'starting' || !work.started_at) return <AnswerLine>{t('work.says.starts', { nodes })}</AnswerLine>;
  const last = metrics?.items.filter((one) => one.attempt === work.attempt && one.last_value !== null).at(0);
  const limit = Number(work.spec.time_limit_seconds ?? 0);
  const says = [
    last &&
      t('work.says.metric', { name: last.name, value: number(last.last_value ?? 0), step: number(last.last_step) }),
    limit > 0 && t('work.says.limit', { time: moment(new Date(Date.parse(work.started_at) + limit * 1000)) }),
  ];
  return (
    <AnswerLine consequence={sentences(says) || undefined}>
      {t('work.says.runs', { nodes, duration: duration(secondsBetween(work.started_at, now)) })}
    </AnswerLine>
  );
}

function Waits({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { clock } = useFormat();
  const now = useNow();
  const words = useReasonWords();
  const verdictWords = useVerdictWords();
  const { data: verdict, error } = useQuery(whyQuery(work.id));
  const paused = work.not_before !== null && Date.parse(work.not_before) > now;
  const reason = ['submitted', 'asked_to_resume', 'infeasible'].includes(work.reason.why)
    ? undefined
    : words(work.reason);
  if (paused)
    return <AnswerLine consequence={t('why.pause', { time: clock(work.not_before ?? '', true) })}>{reason}</AnswerLine>;
  if (error)
    return (
      <AnswerLine detail={reason}>{work.state === 'infeasible' ? words(work.reason) : t('state.queued')}</AnswerLine>
    );
  if (!verdict) return <SkeletonAnswer />;
  return (
    <AnswerLine
      consequence={work.state === 'infeasible' ? t('why.looksAgain') : verdictWords.when(verdict)}
      detail={reason}
    >
      {verdictWords.sentence(verdict)}
    </AnswerLine>
  );
}

function Ended({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  const words = useReasonWords();
  const last = work.attempts.at(-1);
  const ran = last?.closed_at
    ? t('work.says.ran', { duration: duration(secondsBetween(last.opened_at, last.closed_at)) })
    : t('work.says.neverRan');
  const grace = duration(Number(work.spec.grace_seconds ?? 0));
  const consequence = isOver(work.state)
    ? ran
    : work.state === 'suspended'
      ? t('work.says.resumeHelps')
      : t('work.says.leaves', { duration: grace });
  return <AnswerLine consequence={consequence}>{words(work.reason)}</AnswerLine>;
}
