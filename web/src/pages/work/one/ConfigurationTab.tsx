import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { Copyable, CopyButton } from '../../../components/Copy';
import { Section } from '../../../components/Page';
import { plugOf } from '../../../kinds';
import { toGive, toYaml } from '../document';

const APPLY = 'corral apply -f work.yaml';

/** The document it was made from, and how to have the same again. */
export function ConfigurationTab({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const launch = plugOf(work.kind)?.launch;
  const yaml = toYaml(toGive(work.spec));
  return (
    <div className="configuration">
      <Section
        title={t('work.configuration.document')}
        note={t('work.configuration.note')}
        aside={<CopyButton text={yaml} />}
      >
        <pre className="command wrapped">{yaml}</pre>
      </Section>
      {launch && (
        <Section title={t('work.configuration.again')} note={t('work.configuration.againNote')}>
          <Copyable text={APPLY} />
          <Link to={launch.path} search={{ like: work.id }}>
            <Button>{t(launch.name)}</Button>
          </Link>
        </Section>
      )}
    </div>
  );
}
