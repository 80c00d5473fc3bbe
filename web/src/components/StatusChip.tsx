import { useTranslation } from 'react-i18next';
import { Glyph, type GlyphName } from './icons';

type Tone = 'green' | 'amber' | 'blue' | 'violet' | 'red' | 'grey';

/** Hue, glyph and word of each state the console shows. */
const states = {
  active: { tone: 'green', glyph: 'disc' },
  pending: { tone: 'amber', glyph: 'asks' },
  disabled: { tone: 'grey', glyph: 'dash' },
  open: { tone: 'amber', glyph: 'waits' },
  used: { tone: 'green', glyph: 'tick' },
  expired: { tone: 'grey', glyph: 'square' },
  revoked: { tone: 'grey', glyph: 'dash' },
  done: { tone: 'green', glyph: 'tick' },
  todo: { tone: 'grey', glyph: 'draft' },
  attention: { tone: 'amber', glyph: 'waits' },
  queued: { tone: 'amber', glyph: 'waits' },
  infeasible: { tone: 'red', glyph: 'cross' },
  starting: { tone: 'blue', glyph: 'starts' },
  running: { tone: 'green', glyph: 'disc' },
  suspending: { tone: 'violet', glyph: 'pauses' },
  suspended: { tone: 'violet', glyph: 'pause' },
  stopping: { tone: 'grey', glyph: 'stops' },
  stopped: { tone: 'grey', glyph: 'square' },
  deleted: { tone: 'grey', glyph: 'dash' },
  succeeded: { tone: 'green', glyph: 'tick' },
  refused: { tone: 'amber', glyph: 'cross' },
  failed: { tone: 'red', glyph: 'cross' },
} as const satisfies Record<string, { tone: Tone; glyph: GlyphName }>;

export type ChipState = keyof typeof states;

/** State = hue + glyph + word. Soft fill only in a page header or alone, never in a table. */
export function StatusChip({ state, soft, word }: { state: ChipState; soft?: boolean; word?: string }) {
  const { t } = useTranslation();
  const { tone, glyph } = states[state];
  return (
    <span className={`chip ${tone}${soft ? ' soft' : ''}`}>
      <Glyph name={glyph} />
      {word ?? t(`state.${state}`)}
    </span>
  );
}
