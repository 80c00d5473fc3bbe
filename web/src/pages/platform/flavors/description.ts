import { useTranslation } from 'react-i18next';
import type { Flavor } from '../../../api/models';

/** What Corral writes to the flavors that it makes itself, as in queues/presets.py. */
const written = [
  { text: /^At most a quarter of a machine, no GPU\.$/, key: 'quarter' },
  { text: /^At most half a machine, no GPU\.$/, key: 'half' },
  { text: /^A slice of a GPU with (?<number>\d+) GiB\.$/, key: 'slice' },
  { text: /^One whole GPU\.$/, key: 'one' },
  { text: /^All (?<number>\d+) GPUs of a machine\.$/, key: 'all' },
] as const;

/** Corral's own words in the reader's language; what people wrote stays as they wrote it. */
export function useFlavorDescription(): (flavor: Flavor) => string {
  const { t } = useTranslation();
  return ({ preset, description }) => {
    for (const { text, key } of preset ? written : []) {
      const found = text.exec(description);
      if (found) return t(`flavors.made.${key}`, { number: found.groups?.number });
    }
    return description;
  };
}
