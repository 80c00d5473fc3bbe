import { Button, Dropdown, type MenuProps } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Organisation } from '../../../api/models';
import { flatten, organisationTree, type OrganisationNode } from '../../../api/organisations';
import { DataTable } from '../../../components/DataTable';
import { ChevronDown, ChevronRight, MoreIcon } from '../../../components/icons';
import { useFormat } from '../../../i18n/format';
import { usePhone } from '../../../theme/preferences';
import { usePlaces } from '../places';
import { useRoles } from '../roles-known';

export type RowAct = 'add' | 'rename' | 'move' | 'delete';

interface Props {
  organisations: readonly Organisation[] | undefined;
  openId: string | null;
  onOpen: (id: string) => void;
  /** Absent where the tree is only looked at. */
  onAct: ((act: RowAct, organisation: Organisation) => void) | undefined;
}

type Row = Omit<OrganisationNode, 'children'> & { children?: Row[] };

/** A leaf without children has no toggle. */
const asRow = (node: OrganisationNode): Row => ({
  ...node,
  children: node.children.length > 0 ? node.children.map(asRow) : undefined,
});

export function OrganisationTree({ organisations, openId, onOpen, onAct }: Props) {
  const { t } = useTranslation();
  const { day, number } = useFormat();
  const { heldOn } = usePlaces();
  const { roles, readable } = useRoles();
  const phone = usePhone();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const tree = organisations && organisationTree(organisations);
  const ownRoles = (id: string) =>
    roles?.filter((role) => role.key === null && role.organisation_id === id).length ?? 0;
  // On a phone the tree is a list in its order, each line indented.
  const rows: Row[] | undefined =
    tree && (phone ? flatten(tree).map((node) => ({ ...node, children: undefined })) : tree.map(asRow));
  const items = (row: Row): MenuProps['items'] => {
    const root = row.parent_id === null;
    return [
      { key: 'add', label: t('organisations.addBelow') },
      { key: 'rename', label: t('organisations.rename') },
      ...(root
        ? []
        : [
            { key: 'move', label: t('organisations.move') },
            { key: 'delete', label: t('organisations.delete'), danger: true },
          ]),
    ];
  };
  const toggle = (id: string) =>
    setClosed((before) => new Set(before.has(id) ? [...before].filter((one) => one !== id) : [...before, id]));
  return (
    <DataTable<Row>
      label={t('menu.organisations')}
      rows={rows}
      skeletonRows={10}
      empty={null}
      openId={openId}
      onOpen={(row) => onOpen(row.id)}
      expandable={{
        expandedRowKeys: flatten(tree ?? [])
          .map((node) => node.id)
          .filter((id) => !closed.has(id)),
        indentSize: 22,
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
          title: t('organisations.name'),
          render: (_, row) => <span className={row.depth === 0 || row.children ? 'strong' : ''}>{row.name}</span>,
        },
        {
          title: t('organisations.people'),
          align: 'right',
          width: 110,
          render: (_, row) => <span className="text-2">{number(row.people_count)}</span>,
        },
        ...(readable
          ? [
              {
                title: t('organisations.ownRoles'),
                align: 'right' as const,
                width: 130,
                render: (_: unknown, row: Row) => <span className="text-2">{ownRoles(row.id) || ''}</span>,
              },
            ]
          : []),
        {
          title: t('organisations.created'),
          width: 120,
          align: 'right',
          render: (_, row) => <span className="text-2 nowrap">{day(row.created_at)}</span>,
        },
        ...(onAct
          ? [
              {
                title: '',
                width: 48,
                align: 'right' as const,
                render: (_: unknown, row: Row) =>
                  heldOn(row.id).has('organisations.manage') && (
                    <Dropdown
                      trigger={['click']}
                      placement="bottomRight"
                      menu={{ items: items(row), onClick: ({ key }) => onAct(key as RowAct, row) }}
                    >
                      <Button
                        type="text"
                        size="small"
                        icon={<MoreIcon />}
                        aria-label={t('organisations.actionsOf', { name: row.name })}
                      />
                    </Dropdown>
                  ),
              },
            ]
          : []),
      ]}
      phoneRow={(row) => (
        <div
          className="row"
          style={{ border: 0, padding: 0, minHeight: 20, paddingInlineStart: 16 * row.depth, flexWrap: 'nowrap' }}
        >
          <span className={row.depth === 0 ? 'strong grow' : 'grow'}>{row.name}</span>
          <span className="small text-2 nowrap">{t('people.count', { count: row.people_count })}</span>
        </div>
      )}
    />
  );
}
