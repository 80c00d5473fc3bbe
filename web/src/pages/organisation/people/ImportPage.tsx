import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AsCommand } from '../../../components/AsCommand';
import { AnswerLine, Page } from '../../../components/Page';
import { EmptyState, SkeletonRows } from '../../../components/States';
import { usePhone } from '../../../theme/preferences';
import '../organisation.css';
import { useUsualStart } from '../usual-start';
import { ImportForm } from './ImportForm';
import { ImportedLinks, ImportLines } from './ImportLines';
import { EXAMPLE, type ImportOutcome } from './import-words';

/** People from a CSV: every line is checked first, then all are imported or none. */
export default function ImportPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const start = useUsualStart('people.manage');
  const [outcome, setOutcome] = useState<ImportOutcome | null>(null);
  return (
    <Page
      title={t('people.import.title')}
      crumbs={[{ title: t('menu.organisation') }, { title: t('menu.people'), to: '/people' }]}
      answer={<Answer outcome={outcome} />}
      actions={
        !phone && (
          <AsCommand
            cli="corral user import people.csv --dry-run"
            api="POST /api/v1/users/import"
            body={{ organisation_id: start.organisation_id, role_id: start.role_id, csv: EXAMPLE, dry_run: true }}
          />
        )
      }
    >
      <div className="import-grid">
        {start.ready ? (
          <ImportForm start={start} outcome={outcome} onOutcome={setOutcome} />
        ) : (
          <SkeletonRows rows={5} height={56} />
        )}
        <div>
          {outcome === null && (
            <EmptyState title={t('people.import.none')} text={t('people.import.noneText')} command={EXAMPLE} />
          )}
          {outcome?.dry_run && <ImportLines rows={outcome.rows} />}
          {outcome && !outcome.dry_run && <ImportedLinks rows={outcome.rows} />}
        </div>
      </div>
    </Page>
  );
}

function Answer({ outcome }: { outcome: ImportOutcome | null }) {
  const { t } = useTranslation();
  if (!outcome) return <AnswerLine consequence={t('people.import.allOrNone')}>{t('people.import.answer')}</AnswerLine>;
  const { created, added, errors, dry_run, rows } = outcome;
  if (!dry_run)
    return (
      <AnswerLine consequence={t('people.import.handOut')}>
        {t('people.import.imported', { count: created, added })}
      </AnswerLine>
    );
  if (errors > 0)
    return (
      <AnswerLine consequence={t('people.import.correct')}>
        {t('people.import.bad', { count: errors, lines: rows.length })}
      </AnswerLine>
    );
  return (
    <AnswerLine consequence={t('people.import.nothingYet')}>
      {t('people.import.good', { count: rows.length, created, added })}
    </AnswerLine>
  );
}
