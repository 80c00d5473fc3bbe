import { Select, type TableProps } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DataTable, WIDE } from '../../../components/DataTable';
import { ChevronDown, ChevronRight, WarningIcon } from '../../../components/icons';
import { readAmount, UNLIMITED, useAmounts, writeAmount } from '../amounts';
import type { QueueEffect } from '../../../api/models';
import { useTight } from '../../../theme/preferences';
import { bound, ownOf, quotaOf, withBound, withOwn, type Bound, type Drafts, type View } from './drafts';
import { EditCell } from './EditCell';
import { QueueAxis, QueueBar } from './QueueBar';
import { flattened, type QueueNode } from './tree';

type Column = NonNullable<TableProps<QueueNode>['columns']>[number];

interface Props {
  tree: QueueNode[] | undefined;
  view: View;
  /** Of the pool: where the axis ends. */
  size: number;
  measured: boolean;
  /** Queues that promise more than they have. */
  over: ReadonlySet<string>;
  drafts: Drafts;
  /** What the drafts would do to fair shares. */
  effects: readonly QueueEffect[];
  openId: string | null;
  onOpen: (id: string) => void;
  /** A panel stands beside it. */
  narrow: boolean;
  /** Absent where the tree is only looked at. */
  onDraft: ((drafts: Drafts) => void) | undefined;
  empty: React.ReactNode;
}

export function QueueTable({
  tree,
  view,
  size,
  measured,
  over,
  drafts,
  effects,
  openId,
  onOpen,
  narrow,
  onDraft,
  empty,
}: Props) {
  const { t } = useTranslation();
  const { plain, told } = useAmounts();
  const tight = useTight();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) =>
    setClosed((before) => new Set(before.has(id) ? [...before].filter((one) => one !== id) : [...before, id]));
  const shown = (amount: number, what: Bound): string =>
    what === 'weight'
      ? String(amount)
      : amount === UNLIMITED
        ? what === 'limit'
          ? t('queues.noLimit')
          : t('queues.everything')
        : plain(amount, view.resource);
  const editable = (queue: QueueNode) => onDraft !== undefined && queue.may_change;
  const number = (what: Bound): Column => ({
    title: t(`queues.${what}`),
    align: 'right',
    width: what === 'weight' ? (tight ? 64 : 84) : tight ? 84 : 112,
    className: 'edit-td',
    render: (_, queue) => {
      const { now, next } = bound(queue, view, what, drafts);
      const text = next === UNLIMITED ? '' : what === 'weight' ? String(next) : writeAmount(next, view.resource);
      return (
        <EditCell
          label={t('queues.cell', { what: t(`queues.${what}`), name: queue.name })}
          shown={shown(now, what)}
          next={shown(next, what)}
          text={text}
          editable={editable(queue) && !(queue.parent_id === null && what === 'guarantee')}
          onChange={(typed) => {
            const value =
              what === 'limit' && typed.trim() === ''
                ? UNLIMITED
                : what === 'weight'
                  ? wholeNumber(typed)
                  : readAmount(typed, view.resource);
            if (value === undefined) return false;
            onDraft?.(withBound(drafts, queue, view, what, value));
            return true;
          }}
        />
      );
    },
  });
  /** The share as it is, and as it would be. */
  const fairOf = (queue: QueueNode) => {
    const now = quotaOf(queue, view)?.fair_share ?? 0;
    return {
      now,
      next:
        effects.find((one) => one.queue_id === queue.id && one.pool_id === view.pool && one.resource === view.resource)
          ?.fair_after ?? now,
    };
  };
  const fair = (queue: QueueNode) => {
    const { now, next } = fairOf(queue);
    return (
      <span className="nowrap">
        {now !== next && (
          <>
            <s className="text-3">{plain(now, view.resource)}</s>{' '}
          </>
        )}
        {plain(next, view.resource)}
      </span>
    );
  };
  const words = (queue: QueueNode) => {
    const quota = quotaOf(queue, view);
    const limit = bound(queue, view, 'limit', drafts).next;
    const guarantee = bound(queue, view, 'guarantee', drafts).next;
    const parts = [
      t('queues.barGuarantee', {
        amount: guarantee === UNLIMITED ? t('queues.everything') : told(guarantee, view.resource),
      }),
      t('queues.barLimit', { amount: limit === UNLIMITED ? t('queues.noLimit') : told(limit, view.resource) }),
      ...(quota?.used === null || quota === undefined
        ? []
        : [t('queues.barUsed', { amount: told(quota.used, view.resource) })]),
      ...(quota?.wanted ? [t('queues.barWanted', { amount: told(quota.wanted, view.resource) })] : []),
      ...(quota?.fair_share ? [t('queues.barFair', { amount: told(fairOf(queue).next, view.resource) })] : []),
    ];
    return parts.join(t('people.comma'));
  };
  const bar = (queue: QueueNode) => (
    <QueueBar
      hue={queue.hue}
      fixed={ownOf(drafts, queue).policy === 'fixed'}
      size={size}
      guarantee={bound(queue, view, 'guarantee', drafts).next}
      limit={bound(queue, view, 'limit', drafts).next}
      used={quotaOf(queue, view)?.used ?? null}
      wanted={quotaOf(queue, view)?.wanted ?? null}
      fair={measured ? fairOf(queue).next : null}
      words={words(queue)}
    />
  );
  const name = (queue: QueueNode) => (
    <span className="queue-name">
      {queue.depth === 1 && <span className="hue" style={{ background: `var(--c-category-${queue.hue})` }} />}
      <span className={queue.depth > 1 || queue.person ? 'cut' : 'cut strong'}>{queue.name}</span>
      {over.has(queue.id) && (
        <span className="amber" title={t('queues.promisesMore')}>
          <WarningIcon size={14} />
          <span className="visually-hidden">{t('queues.promisesMore')}</span>
        </span>
      )}
    </span>
  );
  const wanted: Column = {
    title: t('queues.wantedColumn'),
    align: 'right',
    width: 76,
    responsive: WIDE,
    render: (_, queue) => (
      <span className="text-2">
        {quotaOf(queue, view)?.wanted ? plain(quotaOf(queue, view)?.wanted ?? 0, view.resource) : ''}
      </span>
    ),
  };
  const policy: Column = {
    title: t('queues.policy'),
    className: 'edit-td',
    width: tight ? 84 : 104,
    render: (_, queue) =>
      editable(queue) && queue.parent_id !== null ? (
        <Select
          size="small"
          variant="borderless"
          className="policy-select"
          popupMatchSelectWidth={false}
          aria-label={t('queues.cell', { what: t('queues.policy'), name: queue.name })}
          value={ownOf(drafts, queue).policy}
          options={(['elastic', 'fixed'] as const).map((policy) => ({ value: policy, label: t(`queues.${policy}`) }))}
          onChange={(policy) => onDraft?.(withOwn(drafts, queue, 'policy', policy))}
        />
      ) : (
        <span className="text-2 not-edited">{queue.parent_id === null ? '' : t(`queues.${queue.policy}`)}</span>
      ),
  };
  const priority: Column = {
    title: t('queues.priority'),
    align: 'right',
    width: tight ? 64 : 84,
    className: 'edit-td',
    render: (_, queue) => {
      const next = ownOf(drafts, queue).priority;
      return queue.parent_id === null ? null : (
        <EditCell
          label={t('queues.cell', { what: t('queues.priority'), name: queue.name })}
          shown={String(queue.priority)}
          next={String(next)}
          text={String(next)}
          editable={editable(queue)}
          onChange={(typed) => {
            const value = wholeNumber(typed, true);
            if (value === undefined) return false;
            onDraft?.(withOwn(drafts, queue, 'priority', value));
            return true;
          }}
        />
      );
    },
  };
  return (
    <div className="queue-table">
      <DataTable<QueueNode>
        label={t('menu.queues')}
        rows={tree}
        skeletonRows={10}
        empty={empty}
        openId={openId}
        onOpen={(queue) => onOpen(queue.id)}
        expandable={{
          expandedRowKeys: flattened(tree ?? [])
            .map((node) => node.id)
            .filter((id) => !closed.has(id)),
          indentSize: 18,
          expandIcon: ({ record }) =>
            record.children ? (
              <button
                type="button"
                className="plain tree-toggle"
                aria-expanded={!closed.has(record.id)}
                aria-label={t('organisations.toggle', { name: record.name })}
                onClick={() => toggle(record.id)}
              >
                {closed.has(record.id) ? <ChevronRight size={14} /> : <ChevronDown size={14} />}
              </button>
            ) : (
              <span className="tree-toggle none" />
            ),
        }}
        columns={[
          {
            title: t('queues.queue'),
            className: 'queue-cell',
            onCell: (queue) => ({ className: drafts[queue.id] ? 'queue-cell draft-row' : 'queue-cell' }),
            render: (_, queue) => name(queue),
          },
          ...(narrow ? [] : [policy, priority]),
          number('guarantee'),
          number('limit'),
          ...(narrow ? [] : [number('weight')]),
          {
            title: <QueueAxis size={size} shown={(amount) => plain(amount, view.resource)} />,
            width: narrow ? '18%' : tight ? 116 : '28%',
            className: 'bar-cell',
            render: (_, queue) => bar(queue),
          },
          ...(measured
            ? [
                {
                  title: t('queues.used'),
                  align: 'right' as const,
                  width: tight ? 56 : 68,
                  render: (_: unknown, queue: QueueNode) => plain(quotaOf(queue, view)?.used ?? 0, view.resource),
                },
                ...(narrow ? [] : [wanted]),
                {
                  title: t('queues.fairColumn'),
                  align: 'right' as const,
                  width: tight ? 76 : 96,
                  render: (_: unknown, queue: QueueNode) => fair(queue),
                },
              ]
            : []),
        ]}
        phoneRow={(queue) => (
          <div style={{ textAlign: 'left' }}>
            <div style={{ paddingInlineStart: 12 * queue.depth }}>{name(queue)}</div>
            {bar(queue)}
            <div className="small text-2">{words(queue)}</div>
          </div>
        )}
      />
    </div>
  );
}

function wholeNumber(text: string, negative = false): number | undefined {
  const value = Number(text.trim());
  return text.trim() !== '' && Number.isInteger(value) && (negative || value >= 0) ? value : undefined;
}
