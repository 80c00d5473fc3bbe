import { useQuery } from '@tanstack/react-query';
import { Form, Radio } from 'antd';
import { useTranslation } from 'react-i18next';
import { ErrorState, SkeletonRows } from '../../../components/States';
import { useFlavorLack } from '../../../pages/work/never-words';
import { usableFlavorsQuery } from '../../../pages/work/queries';
import { useNeedsWords } from '../../../pages/work/words';

/** The flavors that the organisation may use, one a line. */
export function FlavorChoice({ organisation }: { organisation: string | undefined }) {
  const { t } = useTranslation();
  const needs = useNeedsWords();
  const lackOf = useFlavorLack();
  const flavors = useQuery(usableFlavorsQuery(organisation));
  if (flavors.error)
    return <ErrorState error={flavors.error} what={t('launch.byFlavor')} onRetry={() => void flavors.refetch()} />;
  if (!flavors.data) return <SkeletonRows rows={4} height={48} />;
  if (flavors.data.length === 0) return <p className="teach text-2">{t('launch.noFlavor')}</p>;
  return (
    <Form.Item name="flavor">
      <Radio.Group className="flavors" aria-label={t('launch.byFlavor')}>
        {flavors.data.map((flavor) => {
          const { first: most, second } = needs({ resources: flavor, replicas: 1 });
          const lack = lackOf(flavor);
          return (
            <Radio key={flavor.id} value={flavor.name}>
              <span className="strong">{flavor.name}</span>
              <span className="small text-2">{second ? t('work.needs.list', { first: most, second }) : most}</span>
              {lack && <span className="small flavor-lack">{lack}</span>}
            </Radio>
          );
        })}
      </Radio.Group>
    </Form.Item>
  );
}
