import { useTranslation } from 'react-i18next';
import { ConfirmByName } from '../components/Modals';

/** Asked before edits that nobody saved are left. */
export default function UnsavedQuestion({ onDiscard, onKeep }: { onDiscard: () => void; onKeep: () => void }) {
  const { t } = useTranslation();
  return (
    <ConfirmByName
      open
      title={t('unsaved.title')}
      text={t('unsaved.text')}
      action={t('unsaved.discard')}
      keep={t('unsaved.keep')}
      onConfirm={() => Promise.resolve(onDiscard())}
      onClose={onKeep}
    />
  );
}
