import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { CheckIcon, CloseIcon } from '../../../components/icons';
import { Section } from '../../../components/Page';
import { ErrorState, SkeletonRows } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { secondsBetween, useNow } from '../now';
import { whyQuery } from '../queries';
import { useVerdictWords } from '../verdict-words';

/** What stops it, where it stands in line, when it will probably start, and what would help. */
export function WhyWaiting({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  const now = useNow();
  const words = useVerdictWords();
  const why = useQuery(whyQuery(work.id));
  const verdict = why.data;
  const title = work.state === 'infeasible' ? t('why.titleNever') : t('why.title');
  if (why.error && !verdict) return <ErrorState error={why.error} what={title} onRetry={() => void why.refetch()} />;
  if (!verdict) return <SkeletonRows rows={4} />;
  const checks = words.checks(verdict);
  const helps = words.helps(verdict);
  const { in_queue: queue, in_pool: pool } = verdict;
  return (
    <div className="why">
      <Section title={title} note={words.asOf(verdict)}>
        <dl className="facts">
          {queue && (
            <>
              <dt>{t('why.position')}</dt>
              <dd>
                {t('why.inQueue', { number: queue.number, total: queue.of })}
                {pool && (
                  <span className="text-2">
                    {t('work.comma')}
                    {t('why.inPool', { number: pool.number, total: pool.of })}
                  </span>
                )}
              </dd>
            </>
          )}
          {verdict.result === 'waits' && (
            <>
              <dt>{t('why.estimate')}</dt>
              <dd>{words.about(verdict) ?? words.when(verdict)}</dd>
            </>
          )}
          {work.waiting_since && (
            <>
              <dt>{t('why.waitsFor')}</dt>
              <dd>{duration(secondsBetween(work.waiting_since, now))}</dd>
            </>
          )}
          {checks.length > 0 && (
            <>
              <dt>{t('why.checks')}</dt>
              <dd>
                {checks.map(({ nodes, what }) => (
                  <div key={what} className="check">
                    <CloseIcon size={12} />{' '}
                    <span>
                      {nodes}
                      {t('work.comma')}
                      {what}
                    </span>
                  </div>
                ))}
              </dd>
            </>
          )}
        </dl>
      </Section>
      <Section title={t('why.helps')} note={helps.length > 0 ? t('why.helpsNote') : undefined}>
        {helps.length === 0 && <p className="row text-2">{t('why.noHelp')}</p>}
        <ul>
          {helps.map((help) => (
            <li key={help} className="row help">
              <CheckIcon size={14} /> <span className="grow">{help}</span>
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
