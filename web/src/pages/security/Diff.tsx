import { useTranslation } from 'react-i18next';
import { useAuditWords } from './words';
import { fieldChanges, type Values } from './changes';

/** What was and what is, field by field: a sign and a word, never colour alone. */
export function Diff({ before, after }: { before: Values | null; after: Values | null }) {
  const { t } = useTranslation();
  const words = useAuditWords();
  const { changed, same } = fieldChanges(before, after);
  if (changed.length === 0 && same.length === 0)
    return (
      <p className="effect" style={{ marginTop: 8 }}>
        {t('audit.noValues')}
      </p>
    );
  return (
    <>
      <dl className="diff">
        {changed.map(({ field, gone, come }) => (
          <div key={field}>
            <dt>{words.field(field)}</dt>
            <dd>
              {gone.map((value, index) => (
                <Line key={`gone ${index}`} kind="gone" text={words.value(field, value)} />
              ))}
              {come.map((value, index) => (
                <Line key={`come ${index}`} kind="come" text={words.value(field, value)} />
              ))}
            </dd>
          </div>
        ))}
      </dl>
      {same.length > 0 && (
        <p className="effect" style={{ marginTop: 8 }}>
          {t('audit.unchanged', { fields: same.map(words.field).join(t('people.comma')) })}
        </p>
      )}
    </>
  );
}

function Line({ kind, text }: { kind: 'gone' | 'come'; text: string }) {
  const { t } = useTranslation();
  return (
    <>
      <span className={`sign ${kind}`}>
        <span aria-hidden="true">{kind === 'gone' ? '−' : '+'}</span> {t(kind === 'gone' ? 'audit.was' : 'audit.now')}
      </span>
      <span className="value">{text}</span>
    </>
  );
}
