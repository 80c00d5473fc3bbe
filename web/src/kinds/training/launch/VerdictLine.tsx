import { useTranslation } from 'react-i18next';
import { ApiError } from '../../../api/errors';
import { Glyph, type GlyphName } from '../../../components/icons';
import { useFormat } from '../../../i18n/format';
import type { Verdict, ZoneVerdict } from '../../../api/models';
import { useZones } from '../../../pages/cluster/zones';
import { useVerdictWords } from '../../../pages/work/verdict-words';
import { isChoice } from '../../../pages/work/zone-reasons';
import type { Probe } from './useProbe';

const looks: Record<'fits' | 'waits' | 'never', { glyph: GlyphName; tone: string }> = {
  fits: { glyph: 'tick', tone: 'green' },
  waits: { glyph: 'waits', tone: 'amber' },
  never: { glyph: 'cross', tone: 'red' },
};

/** Fits, waits or never, with what would help; the old verdict stays, greyed, until the new one comes. */
export function VerdictLine({ probe }: { probe: Probe }) {
  const { t } = useTranslation();
  const { moment, sentences } = useFormat();
  const words = useVerdictWords();
  const { verdict, error, old } = probe;
  const { several } = useZones();
  const whyZone = useWhyZone();
  const field = error instanceof ApiError ? error.fields[0] : undefined;
  const said = field
    ? { look: looks.never, first: field.message, second: field.remedy ?? '' }
    : error
      ? { look: looks.waits, first: t('launch.cannotAsk'), second: '' }
      : verdict
        ? { look: looks[verdict.result], first: words.sentence(verdict), second: secondLine() }
        : { look: null, first: t('launch.answerEmpty'), second: '' };

  function secondLine(): string {
    if (!verdict) return '';
    const zone = several && whyZone(verdict);
    if (verdict.result === 'fits')
      return sentences([
        zone,
        verdict.takes_from.length > 0 && t('launch.fitsTakes', { names: verdict.takes_from.join(t('people.comma')) }),
      ]);
    const queue = verdict.in_queue;
    const checks = words
      .checks(verdict)
      .map(({ nodes, what }) => `${nodes}${t('work.comma')}${what}${t('launch.stop')}`);
    return sentences([
      zone,
      words.when(verdict),
      queue && `${t('why.inQueue', { number: queue.number, total: queue.of })}${t('launch.stop')}`,
      ...checks,
    ]);
  }

  const says = (one: ZoneVerdict): string =>
    sentences([words.sentence(one), one.starts_at && t('why.startsAt', { time: moment(one.starts_at) })]);
  const zones = verdict && !error && verdict.zones && verdict.zones.length > 1 ? verdict.zones : [];
  const helps = verdict && !error && verdict.result !== 'fits' ? words.helps(verdict) : [];
  return (
    <div className={`launch-verdict${old ? ' old' : ''}`} aria-live="polite" aria-busy={old}>
      <span className={`chip ${said.look?.tone ?? 'grey'}`}>
        {said.look ? <Glyph name={said.look.glyph} size={18} /> : <Glyph name="draft" size={18} />}
      </span>
      <div>
        <p className="answer">{said.first}</p>
        <p className="answer-detail">{said.second || '\u00a0'}</p>
        {zones.length > 0 && (
          <ul className="verdict-zones small text-2" aria-label={t('launch.everyZone')}>
            {zones.map((one) => (
              <li key={one.zone_id}>
                <span className={`chip ${looks[one.result].tone}`}>
                  <Glyph name={looks[one.result].glyph} size={12} />
                </span>
                <span>{t('launch.zoneSays', { zone: one.zone_name, sentence: says(one) })}</span>
              </li>
            ))}
          </ul>
        )}
        {helps.length > 0 && (
          <ul className="verdict-helps small text-2" aria-label={t('why.helps')}>
            {helps.slice(0, 3).map((help) => (
              <li key={help}>
                <Glyph name="tick" size={12} /> {help}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

/** Which zone it would go to, and why there. */
function useWhyZone(): (verdict: Verdict) => string | undefined {
  const { t } = useTranslation();
  return ({ zone_name: zone, zone_reason: reason }) =>
    zone && isChoice(reason) ? t(`launch.chosenZone.${reason}`, { zone }) : undefined;
}
