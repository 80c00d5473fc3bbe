import { useQuery } from '@tanstack/react-query';
import { Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { flatten, organisationsQuery, organisationTree } from '../api/organisations';
import { useLookingAt } from './looking-at';

const EVERYTHING = '*';

/** Chooses the node of the organisation tree that the pages show. Absent where there is nothing to choose. */
export function OrganisationSwitcher() {
  const { t } = useTranslation();
  const { data = [] } = useQuery(organisationsQuery);
  const { organisation, look } = useLookingAt();
  if (data.length < 2) return null;
  const nodes = flatten(organisationTree(data));
  return (
    <Select
      className="organisation-switcher"
      aria-label={t('shell.lookingAt')}
      value={organisation?.id ?? EVERYTHING}
      onChange={(id) => look(id === EVERYTHING ? null : id)}
      showSearch={{ optionFilterProp: 'label' }}
      popupMatchSelectWidth={false}
      variant="outlined"
      options={[
        { value: EVERYTHING, label: t('shell.allOrganisations') },
        ...nodes.map((node) => ({ value: node.id, label: node.name, depth: node.depth })),
      ]}
      optionRender={(option) => (
        <span style={{ paddingInlineStart: 14 * Number((option.data as { depth?: number }).depth ?? 0) }}>
          {option.label}
        </span>
      )}
    />
  );
}
