import { Button } from 'antd';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../../../components/Copy';
import { DataTable } from '../../../components/DataTable';
import { Glyph, type GlyphName } from '../../../components/icons';
import { useFormat } from '../../../i18n/format';
import { download, linksCsv, useImportProblem, type ImportedRow } from './import-words';

const looks: Record<ImportedRow['result'], { tone: string; glyph: GlyphName }> = {
  create: { tone: 'green', glyph: 'tick' },
  add: { tone: 'blue', glyph: 'tick' },
  unchanged: { tone: 'grey', glyph: 'dash' },
  error: { tone: 'red', glyph: 'cross' },
};

const withId = (rows: readonly ImportedRow[]) => rows.map((row) => ({ ...row, id: String(row.line) }));

/** What each line would do; lines that cannot be imported first. */
export function ImportLines({ rows }: { rows: readonly ImportedRow[] }) {
  const { t } = useTranslation();
  const problem = useImportProblem();
  const sorted = withId(rows).sort(
    (a, b) => Number(b.result === 'error') - Number(a.result === 'error') || a.line - b.line,
  );
  const result = (row: ImportedRow) => (
    <span className={`chip ${looks[row.result].tone}`}>
      <Glyph name={looks[row.result].glyph} />
      {t(`people.import.result.${row.result}`)}
    </span>
  );
  const why = (row: ImportedRow) => row.problems.map(problem).join(' ');
  return (
    <DataTable
      label={t('people.import.linesChecked')}
      rows={sorted}
      empty={null}
      columns={[
        {
          title: t('people.import.line'),
          width: 56,
          align: 'right',
          render: (_, row) => <span className="text-2">{row.line}</span>,
        },
        { title: t('people.import.will'), width: 130, render: (_, row) => result(row) },
        { title: t('field.userName'), width: '18%', render: (_, row) => <span className="mono">{row.name}</span> },
        { title: t('people.person'), width: '20%', render: (_, row) => row.display_name },
        {
          title: t('people.import.remark'),
          render: (_, row) =>
            row.problems.length > 0 ? (
              <span className="danger">{why(row)}</span>
            ) : (
              <span className="text-2">{row.mail}</span>
            ),
        },
      ]}
      phoneRow={(row) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 0 }}>
            <span className="strong grow">
              {row.line}. {row.display_name}
            </span>
            {result(row)}
          </div>
          <div className="small text-2">{row.problems.length > 0 ? why(row) : (row.mail ?? row.name)}</div>
        </div>
      )}
    />
  );
}

/** The login links of everyone who is new, shown this once. */
export function ImportedLinks({ rows }: { rows: readonly ImportedRow[] }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const made = withId(rows.filter((row) => row.login_link));
  const csv = linksCsv(rows);
  return (
    <>
      {made.length > 0 && (
        <p className="text-2" style={{ marginBottom: 12 }}>
          {t('people.import.linksOnce')}
        </p>
      )}
      <div className="form-actions" style={{ marginBottom: 8 }}>
        {made.length > 0 && (
          <>
            <Button type="primary" onClick={() => download('corral-login-links.csv', csv, 'text/csv')}>
              {t('people.import.download')}
            </Button>
            <CopyButton text={csv} size="middle" type="default" label={t('people.import.copyCsv')} />
          </>
        )}
        <Link to="/people">
          <Button>{t('people.import.toPeople')}</Button>
        </Link>
      </div>
      <DataTable
        label={t('people.import.links')}
        rows={made}
        empty={<p className="text-2">{t('people.import.noLinks')}</p>}
        columns={[
          { title: t('people.person'), render: (_, row) => <span className="strong">{row.display_name}</span> },
          {
            title: t('people.import.link'),
            render: (_, row) => (
              <span className="mono" style={{ overflowWrap: 'anywhere' }}>
                {row.login_link?.url}
              </span>
            ),
          },
          {
            title: t('people.import.until'),
            width: 120,
            render: (_, row) => (
              <span className="text-2 nowrap">{row.login_link && moment(row.login_link.expires_at)}</span>
            ),
          },
          { title: '', width: 96, align: 'right', render: (_, row) => <CopyButton text={row.login_link?.url ?? ''} /> },
        ]}
        phoneRow={(row) => (
          <div className="row" style={{ border: 0, padding: 0 }}>
            <div className="grow">
              <div className="strong">{row.display_name}</div>
              <div className="small mono" style={{ overflowWrap: 'anywhere' }}>
                {row.login_link?.url}
              </div>
            </div>
            <CopyButton text={row.login_link?.url ?? ''} />
          </div>
        )}
      />
    </>
  );
}
