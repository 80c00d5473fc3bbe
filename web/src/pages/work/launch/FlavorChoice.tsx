import { useQuery } from '@tanstack/react-query';
import { Form, Radio } from 'antd';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { ErrorState, SkeletonRows } from '../../../components/States';
import { useNeedsWords } from '../words';

/** The flavors that the organisation may use, one a line. */
export function FlavorChoice({ organisation, chosen, onDefault }: { organisation: string | undefined; chosen: string | undefined; onDefault: (flavor: string) => void }) {
  const { t } = useTranslation();
  const needs = useNeedsWords();
  const flavors = useQuery({
    queryKey: ['flavors', 'usable', organisation ?? null],
    queryFn: async () => (await body(client.GET('/api/v1/flavors', { params: { query: { organisation } } }))).items.filter((one) => one.enabled),
  });
  const first = flavors.data?.[0]?.name;
  useEffect(() => {
    if (chosen === undefined && first !== undefined) onDefault(first);
  }, [chosen, first, onDefault]);
  if (flavors.error) return <ErrorState error={flavors.error} what={t('launch.byFlavor')} onRetry={() => void flavors.refetch()} />;
  if (!flavors.data) return <SkeletonRows rows={4} height={48} />;
  if (flavors.data.length === 0) return <p className="teach text-2">{t('launch.noFlavor')}</p>;
  return (
    <Form.Item name="flavor">
      <Radio.Group className="flavors" aria-label={t('launch.byFlavor')}>
        {flavors.data.map((flavor) => {
          const { first: most, second } = needs({ resources: flavor, replicas: 1 });
          return (
            <Radio key={flavor.id} value={flavor.name}>
              <span className="strong">{flavor.name}</span>
              <span className="small text-2">{second ? t('work.needs.list', { first: most, second }) : most}</span>
            </Radio>
          );
        })}
      </Radio.Group>
    </Form.Item>
  );
}
