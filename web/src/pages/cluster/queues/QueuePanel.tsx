import { Link } from '@tanstack/react-router';
import { Input, Radio } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMay } from '../../../api/session';
import { Section } from '../../../components/Page';
import { SidePanel } from '../../../components/SidePanel';
import { useFormat } from '../../../i18n/format';
import { useAmounts } from '../amounts';
import { ownOf, quotaOf, withOwn, type Drafts, type View } from './drafts';
import { readDuration, writeDuration } from '../../../i18n/durations';
import type { QueueNode } from './tree';

type MinRuntime = 'reclaim_min_runtime_seconds' | 'preempt_min_runtime_seconds';

interface Props {
  queue: QueueNode;
  /** Those above it, the nearest first: what it does not say itself, they do. */
  above: readonly QueueNode[];
  view: View;
  drafts: Drafts;
  /** Absent where it is only looked at. */
  onDraft: ((drafts: Drafts) => void) | undefined;
  onClose: () => void;
}

/** One queue: what it has now, how long its work is safe, and whether it may ask for numbers. */
export function QueuePanel({ queue, above, view, drafts, onDraft, onClose }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const { told } = useAmounts();
  const quota = quotaOf(queue, view);
  const own = ownOf(drafts, queue);
  const editable = onDraft !== undefined && queue.may_change;
  const numbersAbove = above.map((one) => ownOf(drafts, one).custom_numbers).find((said) => said !== null) ?? true;
  const below = queue.person
    ? t('queues.ofPerson', { organisation: queue.organisation_name })
    : above[0]
      ? t('queues.below', { name: above[0].name })
      : t('queues.top');
  const facts = quota && quota.used !== null && quota.fair_share !== null;
  return (
    <SidePanel title={queue.name} subtitle={below} onClose={onClose}>
      {!editable && <p className="effect">{t('queues.notYours')}</p>}
      {facts && (
        <Section title={t('queues.now')}>
          <dl className="facts">
            <dt>{t('queues.used')}</dt>
            <dd>{told(quota.used ?? 0, view.resource)}</dd>
            <dt>{t('queues.wantedColumn')}</dt>
            <dd>{told(quota.wanted ?? 0, view.resource)}</dd>
            <dt>{t('queues.fairColumn')}</dt>
            <dd>{told(quota.fair_share ?? 0, view.resource)}</dd>
          </dl>
          <p className="effect">{standing(quota)}</p>
        </Section>
      )}
      <Section title={t('queues.minRuntimes')}>
        <MinRuntimeField
          field="reclaim_min_runtime_seconds"
          {...{ queue, above, drafts, onDraft: editable ? onDraft : undefined }}
        />
        <MinRuntimeField
          field="preempt_min_runtime_seconds"
          {...{ queue, above, drafts, onDraft: editable ? onDraft : undefined }}
        />
        <p className="effect">{t('queues.minRuntimesHint')}</p>
      </Section>
      <Section title={t('queues.customNumbers')}>
        <Radio.Group
          className="stacked"
          aria-label={t('queues.customNumbers')}
          disabled={!editable}
          value={own.custom_numbers}
          onChange={(event) =>
            onDraft?.(withOwn(drafts, queue, 'custom_numbers', event.target.value as boolean | null))
          }
          options={[
            {
              value: null,
              label:
                above.length === 0
                  ? t('queues.numbersUsual')
                  : t('queues.numbersInherited', {
                      what: numbersAbove ? t('queues.numbersToo') : t('queues.noNumbers'),
                    }),
            },
            { value: true, label: t('queues.allowed') },
            { value: false, label: t('queues.flavorsOnly') },
          ]}
        />
      </Section>
      {may('audit.read') && (
        <p className="small">
          <Link to="/audit" search={{ object: queue.id, name: queue.name }}>
            {t('people.history')}
          </Link>
        </p>
      )}
    </SidePanel>
  );

  function standing({ used, wanted, fair_share }: NonNullable<typeof quota>): string {
    const over = (used ?? 0) - (fair_share ?? 0);
    if (over > 0) return t('queues.overShare', { amount: told(over, view.resource) });
    if ((wanted ?? 0) === 0) return t('queues.insideShare');
    return over < 0 ? t('queues.underShare', { amount: told(-over, view.resource) }) : t('queues.atShare');
  }
}

/** How long work is safe from being taken; empty means as the queue above. */
function MinRuntimeField({
  field,
  queue,
  above,
  drafts,
  onDraft,
}: { field: MinRuntime } & Pick<Props, 'queue' | 'above' | 'drafts' | 'onDraft'>) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  const next = ownOf(drafts, queue)[field];
  const [typed, setTyped] = useState(next === null ? '' : writeDuration(next));
  const [wrong, setWrong] = useState(false);
  const inherited = above.map((one) => ownOf(drafts, one)[field]).find((said) => said !== null) ?? 0;
  const take = (text: string) => {
    setTyped(text);
    const seconds = text.trim() === '' ? null : readDuration(text);
    setWrong(seconds === undefined);
    if (seconds !== undefined) onDraft?.(withOwn(drafts, queue, field, seconds));
  };
  const label = t(`queues.${field}`);
  return (
    <label className="in-place min-runtime">
      <span className="grow">{label}</span>
      {next !== queue[field] && <s>{queue[field] === null ? t('queues.asAbove') : duration(queue[field])}</s>}
      <Input
        size="small"
        value={typed}
        status={wrong ? 'error' : undefined}
        aria-invalid={wrong}
        aria-label={label}
        disabled={onDraft === undefined}
        maxLength={20}
        placeholder={t('queues.inheritedTime', { duration: duration(inherited) })}
        onChange={(event) => take(event.target.value)}
      />
    </label>
  );
}
