import { Button } from 'antd';
import { createContext, Fragment, useContext, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Notice } from './States';
import { hasUnsaved } from './unsaved';

interface Versioned {
  id: string;
  generation: number;
}

/** Loads the newer version; null while the newest is on the screen. */
const NewerVersion = createContext<(() => void) | null>(null);

/**
 * Shows the newest version of something to a form. While the form has edits it keeps the version they were made
 * on, so that nothing typed is lost when somebody else saves; `ChangedMeanwhile` says so and offers the newer one.
 */
export function LatestVersion<T extends Versioned>({
  of: newest,
  children,
}: {
  of: T;
  children: (shown: T) => ReactNode;
}) {
  const [kept, setKept] = useState(newest);
  const another = newest.id !== kept.id;
  const newer = !another && newest.generation !== kept.generation;
  if (newest !== kept && (another || !newer || !hasUnsaved())) setKept(newest);
  return (
    <NewerVersion value={newer ? () => setKept(newest) : null}>
      <Fragment key={`${kept.id} ${kept.generation}`}>{children(kept)}</Fragment>
    </NewerVersion>
  );
}

/** In a form inside `LatestVersion`: says that somebody else saved the same thing. */
export function ChangedMeanwhile() {
  const load = useContext(NewerVersion);
  return load && <ChangedNotice onLoad={load} />;
}

export function ChangedNotice({ onLoad }: { onLoad: () => void }) {
  const { t } = useTranslation();
  return (
    <Notice tone="warning">
      {t('problem.stale.title')}{' '}
      <Button type="link" size="small" onClick={onLoad}>
        {t('unsaved.loadNew')}
      </Button>
    </Notice>
  );
}
