import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay } from '../../../api/session';
import { EmptyState } from '../../../components/States';
import { useLookingAt } from '../../../shell/looking-at';
import { useUrlState } from '../../../shell/url-state';
import { states } from '../states';

/** Nothing was ever run: one sentence, one command, one button. */
export function TeachRunning() {
  const { t } = useTranslation();
  const may = useMay();
  return (
    <EmptyState
      title={t('work.empty.title')}
      text={t('work.empty.text')}
      command="corral run --gpu 8Gi train.py"
      actions={
        may('workloads.run') && (
          <Link to="/training/launch">
            <Button>{t('menu.launchTraining')}</Button>
          </Link>
        )
      }
    />
  );
}

/** The filters leave nothing: says which, and drops them one by one. */
export function NothingMatches({ ofEveryKind }: { ofEveryKind: boolean }) {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const { organisation, look } = useLookingAt();
  const one = states.find((state) => state === url.state);
  const stateWord = one
    ? t(`state.${one}`)
    : url.state === 'over'
      ? t('work.over')
      : url.state === 'notOver'
        ? t('work.notOver')
        : undefined;
  const set = [
    url.search && { key: 'search' as const, word: `“${url.search}”`, drop: () => change({ search: undefined }) },
    stateWord && { key: 'state' as const, word: stateWord, drop: () => change({ state: undefined }) },
    url.whose && { key: 'whose' as const, word: t('work.mine'), drop: () => change({ whose: undefined }) },
    ofEveryKind && url.kind && { key: 'kind' as const, word: url.kind, drop: () => change({ kind: undefined }) },
    organisation && { key: 'organisation' as const, word: organisation.name, drop: () => look(null) },
  ].filter((filter) => typeof filter === 'object' && filter !== null);
  const all = () => {
    if (organisation) look(null);
    change({ search: undefined, state: undefined, whose: undefined, kind: undefined, organisation: undefined });
  };
  return (
    <EmptyState
      title={t('work.nobodys', { filters: set.map(({ word }) => word).join(t('people.comma')) })}
      text={t('work.dropFilter')}
      actions={
        <>
          {set.map(({ key, drop }) => (
            <Button key={key} onClick={drop}>
              {t(`work.drop.${key}`)}
            </Button>
          ))}
          {set.length > 1 && (
            <Button type="text" onClick={all}>
              {t('work.clearAll')}
            </Button>
          )}
        </>
      }
    />
  );
}
