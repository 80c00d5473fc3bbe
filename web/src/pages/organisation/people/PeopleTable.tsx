import type { TableProps } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { User } from '../../../api/models';
import { Avatar } from '../../../components/Avatar';
import { DataTable } from '../../../components/DataTable';
import { useRoleName } from '../../../components/role-name';
import { useFormat } from '../../../i18n/format';
import { usePlaces } from '../places';
import { useGivenRoleName } from '../roles-known';
import type { PeopleRow } from './rows';

interface Props {
  rows: PeopleRow[] | undefined;
  sort: string;
  onSort: (sort: string) => void;
  openId: string | null;
  onOpen: (id: string) => void;
  onInvitation: () => void;
  /** Absent where one may change nobody. */
  chosen: readonly string[] | undefined;
  onChoose: (ids: readonly string[]) => void;
  empty: ReactNode;
  more: { load: () => void; loading: boolean } | undefined;
  /** A panel stands beside the table and shows the rest. */
  narrow: boolean;
}

export function PeopleTable({
  rows,
  sort,
  onSort,
  openId,
  onOpen,
  onInvitation,
  chosen,
  onChoose,
  empty,
  more,
  narrow,
}: Props) {
  const { t } = useTranslation();
  const words = useRowWords();
  const direction = (key: string) =>
    sort === key ? ('ascend' as const) : sort === `-${key}` ? ('descend' as const) : null;
  const columns: TableProps<PeopleRow>['columns'] = [
    {
      title: t('people.person'),
      key: 'display_name',
      width: narrow ? '28%' : '25%',
      sorter: true,
      sortOrder: direction('display_name'),
      render: (_, row) => <Who row={row} />,
    },
    {
      title: t('people.belongsTo'),
      key: 'belongs',
      ellipsis: true,
      render: (_, row) => (
        <span className="text-2" title={words.belongs(row)}>
          {words.belongsShort(row)}
        </span>
      ),
    },
    {
      title: t('people.roles'),
      key: 'roles',
      ellipsis: true,
      width: narrow ? '22%' : '21%',
      render: (_, row) => <span title={words.roles(row)}>{words.roles(row)}</span>,
    },
    ...(narrow
      ? []
      : [
          {
            title: t('people.priority'),
            key: 'priority',
            align: 'right' as const,
            width: 66,
            render: (_: unknown, row: PeopleRow) => <span className="text-2">{row.user?.priority}</span>,
          },
        ]),
    {
      title: t('people.lastSeen'),
      key: 'last_seen_at',
      align: 'right',
      width: narrow ? 112 : 124,
      sorter: true,
      sortOrder: direction('last_seen_at'),
      sortDirections: ['descend', 'ascend'],
      render: (_, row) => <Seen row={row} />,
    },
  ];
  return (
    <DataTable<PeopleRow>
      label={t('menu.people')}
      rows={rows}
      columns={columns}
      onSort={(_pagination, _filters, sorter) => {
        const one = Array.isArray(sorter) ? sorter[0] : sorter;
        onSort(one?.order && one.columnKey ? `${one.order === 'descend' ? '-' : ''}${String(one.columnKey)}` : '');
      }}
      openId={openId}
      onOpen={(row) => (row.user ? onOpen(row.id) : onInvitation())}
      selection={
        chosen && {
          selectedRowKeys: [...chosen],
          onChange: (keys) => onChoose(keys.map(String)),
          columnWidth: 32,
          getCheckboxProps: (row) => ({
            disabled: !row.user,
            'aria-label': t('people.choose', { name: words.name(row) }),
          }),
          getTitleCheckboxProps: () => ({ 'aria-label': t('people.chooseAll') }),
        }
      }
      empty={empty}
      more={more}
      skeletonRows={14}
      phoneRow={(row) => (
        <div className="phone-person">
          <Avatar name={words.name(row)} />
          <div>
            <div className="strong">{words.name(row)}</div>
            <div className="small text-2">{words.belongs(row)}</div>
            <div className="small text-2">{words.roles(row)}</div>
          </div>
          <span className="small text-2">
            <Seen row={row} />
          </span>
        </div>
      )}
    />
  );
}

function Who({ row }: { row: PeopleRow }) {
  const words = useRowWords();
  return (
    <span className="person-cell">
      <Avatar name={words.name(row)} />
      <span className={row.user?.state === 'active' ? 'cut strong' : 'cut away'}>{words.name(row)}</span>
    </span>
  );
}

/** When the person was last seen, or why not. */
function Seen({ row }: { row: PeopleRow }) {
  const { t } = useTranslation();
  const { ago, day } = useFormat();
  if (row.invitation)
    return <span className="pill outlined">{t('people.invitedOn', { day: day(row.invitation.created_at) })}</span>;
  const { state, last_seen_at } = row.user;
  if (state === 'disabled') return <span className="pill">{t('people.isDisabled')}</span>;
  if (state === 'pending') return <span className="pill asks">{t('people.isPending')}</span>;
  return <span className="text-2 nowrap">{last_seen_at ? ago(last_seen_at) : t('people.never')}</span>;
}

function useRowWords() {
  const { t } = useTranslation();
  const roleName = useRoleName();
  const givenName = useGivenRoleName();
  const { crumb } = usePlaces();
  const list = (words: string[]) => [...new Set(words)].join(t('people.comma'));
  const roles = (user: User) => list(user.roles.map(roleName));
  const places = (row: PeopleRow): string[] =>
    row.user
      ? row.user.organisations.map(({ id, name }) => crumb(id, name))
      : [crumb(row.invitation.organisation_id, row.invitation.organisation_name)];
  return {
    name: (row: PeopleRow) => row.user?.display_name ?? row.invitation?.mail ?? t('people.someoneInvited'),
    belongs: (row: PeopleRow) => list(places(row)),
    /** In a line of a table: the first place, and how many more. */
    belongsShort: (row: PeopleRow) => {
      const [first, ...rest] = places(row);
      return first === undefined ? '' : rest.length > 0 ? t('people.andMore', { first, count: rest.length }) : first;
    },
    roles: (row: PeopleRow) => (row.user ? roles(row.user) : givenName(row.invitation)),
  };
}
