import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Verdict } from '../../../api/models';
import { ConfirmByName } from '../../../components/Modals';
import { useVerdictWords } from '../../../pages/work/verdict-words';

interface Asked {
  verdict: Verdict;
  answer: (launch: boolean) => void;
}

/** Asks before work is launched that can never run. */
export function useNeverConfirm() {
  const { t } = useTranslation();
  const words = useVerdictWords();
  const [asked, setAsked] = useState<Asked | null>(null);
  const dialog = (
    <ConfirmByName
      open={asked !== null}
      title={t('launch.neverTitle')}
      text={
        asked && (
          <>
            <p>{words.sentence(asked.verdict)}</p>
            <p>{t('why.looksAgain')}</p>
          </>
        )
      }
      action={t('launch.anyway')}
      keep={t('launch.back')}
      onConfirm={() => Promise.resolve(asked?.answer(true))}
      onClose={() => {
        asked?.answer(false);
        setAsked(null);
      }}
    />
  );
  return { dialog, confirmed: (verdict: Verdict) => new Promise<boolean>((answer) => setAsked({ verdict, answer })) };
}
