import { Button } from 'antd';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { CloseIcon } from '../../../components/icons';
import { useFormat } from '../../../i18n/format';
import type { Entry } from './tar';

const MIB = 1024 ** 2;

interface Props {
  id?: string;
  value?: Entry[];
  onChange?: (entries: Entry[] | undefined) => void;
  /** The work it is like has files already, which are used again. */
  kept: boolean;
}

/** Takes a folder or some files of this computer as the working directory. */
export function FilesField({ value, onChange, kept }: Props) {
  const { t } = useTranslation();
  const { number } = useFormat();
  const folder = useRef<HTMLInputElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const take = (list: FileList | null, inFolder: boolean) => {
    if (!list || list.length === 0) return;
    // The chosen folder itself is the working directory, not a folder in it.
    onChange?.(
      [...list].map((file) => ({
        path: inFolder ? file.webkitRelativePath.split('/').slice(1).join('/') : file.name,
        size: file.size,
        content: file,
      })),
    );
  };
  const bytes = (value ?? []).reduce((sum, one) => sum + one.size, 0);
  return (
    <div className="files">
      <input
        ref={folder}
        type="file"
        hidden
        webkitdirectory=""
        onChange={(event) => take(event.target.files, true)}
        aria-label={t('launch.chooseFolder')}
      />
      <input
        ref={files}
        type="file"
        hidden
        multiple
        onChange={(event) => take(event.target.files, false)}
        aria-label={t('launch.chooseFiles')}
      />
      <Button onClick={() => folder.current?.click()}>{t('launch.chooseFolder')}</Button>
      <Button onClick={() => files.current?.click()}>{t('launch.chooseFiles')}</Button>
      <span className="text-2" role="status">
        {value
          ? t('launch.filesChosen', {
              count: value.length,
              size: `${number(Math.max(0.1, Math.round((bytes / MIB) * 10) / 10))}\u00a0MiB`,
            })
          : kept
            ? t('launch.filesKept')
            : ''}
      </span>
      {value && (
        <Button
          type="text"
          icon={<CloseIcon />}
          aria-label={t('launch.remove', { name: t('launch.files') })}
          onClick={() => onChange?.(undefined)}
        />
      )}
    </div>
  );
}

declare module 'react' {
  // The attribute exists in every browser, and is in no standard that React's types follow.
  interface InputHTMLAttributes<T> {
    webkitdirectory?: T extends HTMLInputElement ? string : never;
  }
}
