import { Button } from 'antd';
import { createContext, Fragment, useContext, useMemo, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Notice } from './States';
import { EditScope, hasUnsaved, type Edits } from './unsaved';

interface Versioned {
  /** Settings have none: there is one of them. */
  id?: string;
  generation: number;
}

interface Versions {
  /** Loads the newer version; null while the newest is on the screen. */
  load: (() => void) | null;
  /** What the server answered to a save made here: it is nobody else's change. */
  adopt: (saved: Versioned) => void;
}

const VersionContext = createContext<Versions>({ load: null, adopt: () => undefined });

/**
 * Shows the newest version of something to its forms. While one of them has edits, all keep the version these were
 * made on, so that nothing typed is lost when somebody else saves; `ChangedMeanwhile` says so and offers the newer
 * one. A save made here moves the version on and leaves what is typed in the other forms where it is.
 */
export function LatestVersion<T extends Versioned>({
  of: newest,
  children,
}: {
  of: T;
  children: (shown: T) => ReactNode;
}) {
  const [shown, setShown] = useState({ version: newest, mount: 0 });
  const [edits] = useState<Edits>(() => new Set());
  const kept = shown.version;
  const another = newest.id !== kept.id;
  // The answer to a save may be here before the list that contains it: an older version never replaces a newer one.
  const newer = !another && newest.generation > kept.generation;
  const same = !another && newest.generation === kept.generation;
  if (another || (newer && !hasUnsaved(edits))) setShown({ version: newest, mount: shown.mount + 1 });
  else if (same && newest !== kept) setShown({ ...shown, version: newest });

  const versions = useMemo<Versions>(
    () => ({
      load: newer ? () => setShown(({ mount }) => ({ version: newest, mount: mount + 1 })) : null,
      adopt: (saved) => {
        // Forms begin anew with what the server made of it, unless something else is typed there.
        const anew = hasUnsaved(edits) ? 0 : 1;
        setShown((before) =>
          saved.id === before.version.id && saved.generation > before.version.generation
            ? { version: saved as T, mount: before.mount + anew }
            : before,
        );
      },
    }),
    [newer, newest, edits],
  );
  return (
    <VersionContext value={versions}>
      <EditScope value={edits}>
        <Fragment key={shown.mount}>{children(kept)}</Fragment>
      </EditScope>
    </VersionContext>
  );
}

/** How a form inside `LatestVersion` hands over the version that its own save made. */
export const useAdopt = (): Versions['adopt'] => useContext(VersionContext).adopt;

/** In a form inside `LatestVersion`: says that somebody else saved the same thing. */
export function ChangedMeanwhile({ saving }: { saving: boolean }) {
  const { t } = useTranslation();
  const { load } = useContext(VersionContext);
  // Of a save on its way, the new version may be heard before the answer.
  if (!load || saving) return null;
  return (
    <Notice tone="warning">
      {t('problem.stale.title')}{' '}
      <Button type="link" size="small" onClick={load}>
        {t('unsaved.loadNew')}
      </Button>
    </Notice>
  );
}
