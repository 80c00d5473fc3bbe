import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { Section } from '../../../components/Page';
import { StatusChip } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { useReasonWords } from '../words';

/** Every change of state with its reason, newest first. */
export function WhatHappened({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const words = useReasonWords();
  const many = work.attempts.length > 1;
  return (
    <Section title={t('work.happened')}>
      <ol className="happened">
        {work.transitions.toReversed().map((one) => (
          <li key={one.number}>
            <div className="happened-head">
              <StatusChip state={one.state} />
              {many && one.state === 'starting' && (
                <span className="small text-3">{t('work.attemptNumber', { number: one.attempt })}</span>
              )}
              <time className="small text-2" dateTime={one.at}>
                {moment(one.at)}
              </time>
            </div>
            <p className="small text-2">{words(one.reason)}</p>
          </li>
        ))}
      </ol>
    </Section>
  );
}
