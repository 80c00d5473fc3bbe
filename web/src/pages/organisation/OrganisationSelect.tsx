import { Select, type SelectProps } from 'antd';
import type { Permission } from '../../api/models';
import { usePlaces } from './places';

interface Props extends Pick<
  SelectProps<string>,
  'id' | 'value' | 'onChange' | 'placeholder' | 'disabled' | 'className' | 'style'
> {
  'aria-label'?: string;
  /** Only organisations on which one holds this. */
  needs?: Permission;
  /** Organisations that make no sense here, such as the moved one itself. */
  without?: ReadonlySet<string>;
}

/** Chooses a node of the tree: indented in the list, as its path once chosen. */
export function OrganisationSelect({ needs, without, ...rest }: Props) {
  const { nodes, crumb, heldOn, loading } = usePlaces();
  const offered = nodes.filter((node) => !without?.has(node.id) && (!needs || heldOn(node.id).has(needs)));
  const top = Math.min(...offered.map((node) => node.depth));
  return (
    <Select<string>
      {...rest}
      loading={loading}
      popupMatchSelectWidth={false}
      showSearch={{ optionFilterProp: 'label' }}
      options={offered.map((node) => ({
        value: node.id,
        label: crumb(node.id),
        name: node.name,
        depth: node.depth - top,
      }))}
      optionRender={({ data }) => {
        const { name, depth } = data as { name: string; depth: number };
        return <span style={{ paddingInlineStart: 14 * depth }}>{name}</span>;
      }}
    />
  );
}
