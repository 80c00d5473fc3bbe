import { useTranslation } from 'react-i18next';

export interface StepWords {
  title: string;
  text: string;
  action: string | null;
}

/** A step of the first day in words; one this console does not know yet shows its key. */
export function useChecklistWords(): (key: string) => StepWords {
  const { t, i18n } = useTranslation();
  return (key) => {
    const say = t as unknown as (path: string) => string;
    const part = (name: string): string | null =>
      i18n.exists(`checklist.${key}.${name}`) ? say(`checklist.${key}.${name}`) : null;
    return { title: part('title') ?? key, text: part('text') ?? '', action: part('action') };
  };
}
