import { Button, Table, type TableColumnType, type TableProps } from 'antd';
import { useCallback, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { usePhone } from '../theme/preferences';
import { SkeletonRows } from './States';

/** Above this many rows only those in sight are in the document. */
const VIRTUAL_ABOVE = 200;
/** Header, answer, filters, column heads and the foot of a page with a long table. */
const AROUND_TABLE = 270;

/** For `responsive` of a column that only a wide screen has room for. */
export const WIDE: NonNullable<TableColumnType['responsive']> = ['xl'];

interface DataTableProps<Row extends { id: string }> {
  label: string;
  rows: readonly Row[] | undefined;
  columns: TableProps<Row>['columns'];
  /** A row's two to four lines on a phone. */
  phoneRow: (row: Row) => ReactNode;
  empty: ReactNode;
  /** Opens a row; by click or Enter. */
  onOpen?: (row: Row) => void;
  openId?: string | null;
  selection?: TableProps<Row>['rowSelection'];
  /** Rows with children become a tree. */
  expandable?: TableProps<Row>['expandable'];
  /** Called with the sort that the heads were clicked to; the rows come sorted from outside. */
  onSort?: TableProps<Row>['onChange'];
  /** Present while there is another page. */
  more?: { load: () => void; loading: boolean; words?: string };
  skeletonRows?: number;
}

/** 40 px rows, hairlines, heads at 12 px; a skeleton of the same height before data comes. */
export function DataTable<Row extends { id: string }>({
  label,
  rows,
  columns,
  phoneRow,
  empty,
  onOpen,
  openId,
  selection,
  expandable,
  onSort,
  more,
  skeletonRows = 8,
}: DataTableProps<Row>) {
  const { t } = useTranslation();
  const phone = usePhone();
  const [width, measure] = useWidth();
  if (rows === undefined) return <SkeletonRows rows={skeletonRows} />;
  if (rows.length === 0) return empty;
  const long = rows.length > VIRTUAL_ABOVE;
  return (
    <div ref={measure}>
      {phone ? (
        <PhoneRows label={label} rows={rows} phoneRow={phoneRow} onOpen={onOpen} />
      ) : (
        <Table<Row>
          aria-label={label}
          rowKey="id"
          dataSource={rows}
          columns={columns}
          pagination={false}
          rowSelection={selection}
          expandable={expandable}
          onChange={onSort}
          showSorterTooltip={false}
          virtual={long}
          // Columns in per cent are of the width given here.
          scroll={long ? { x: width, y: Math.max(400, innerHeight - AROUND_TABLE) } : undefined}
          rowClassName={(row) => (row.id === openId ? 'open-row' : '')}
          onRow={(row) => (onOpen ? openable(() => onOpen(row)) : {})}
        />
      )}
      {more && (
        <div className="form-actions" style={{ marginTop: 12 }}>
          <Button onClick={more.load} disabled={more.loading}>
            {more.words ?? t('action.showMore')}
          </Button>
        </div>
      )}
    </div>
  );
}

/** The width of an element, followed as it changes. */
function useWidth(): [number, (element: HTMLElement | null) => (() => void) | undefined] {
  const [width, setWidth] = useState(0);
  const measure = useCallback((element: HTMLElement | null) => {
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [width, measure];
}

function openable(open: () => void): React.HTMLAttributes<HTMLElement> {
  return {
    tabIndex: 0,
    style: { cursor: 'pointer' },
    onClick: (event) => {
      // A link, button or box inside the row has its own meaning.
      if (
        (event.target as HTMLElement).closest(
          'a, button, input, label, .ant-select, .ant-dropdown, .ant-table-selection-column',
        )
      )
        return;
      open();
    },
    onKeyDown: (event) => {
      if (event.key === 'Enter' && event.target === event.currentTarget) open();
    },
  };
}

function PhoneRows<Row extends { id: string }>({
  label,
  rows,
  phoneRow,
  onOpen,
}: Pick<DataTableProps<Row>, 'label' | 'phoneRow' | 'onOpen'> & { rows: readonly Row[] }) {
  return (
    <ul aria-label={label} className="phone-rows">
      {rows.map((row) => (
        <li key={row.id}>
          {onOpen ? (
            <button type="button" className="plain" onClick={() => onOpen(row)}>
              {phoneRow(row)}
            </button>
          ) : (
            phoneRow(row)
          )}
        </li>
      ))}
    </ul>
  );
}
