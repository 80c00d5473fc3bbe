import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Organisation } from '../../../api/models';
import { useMay } from '../../../api/session';
import { Section } from '../../../components/Page';
import { SidePanel } from '../../../components/SidePanel';
import { useFormat } from '../../../i18n/format';
import { usePlaces } from '../places';
import { useRoles } from '../roles-known';
import type { RowAct } from './OrganisationTree';

interface Props {
  organisation: Organisation;
  editable: boolean;
  onAct: (act: RowAct) => void;
  onClose: () => void;
}

/** One organisation: what is in it, and what can be changed. */
export function OrganisationPanel({ organisation, editable, onAct, onClose }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const { day } = useFormat();
  const { nodes, crumb, heldOn } = usePlaces();
  const { roles, readable } = useRoles();
  const children = nodes.filter((node) => node.parent_id === organisation.id);
  const own = roles?.filter((role) => role.key === null && role.organisation_id === organisation.id) ?? [];
  const manages = editable && heldOn(organisation.id).has('organisations.manage');
  const root = organisation.parent_id === null;
  return (
    <SidePanel
      title={organisation.name}
      subtitle={
        organisation.parent_id
          ? t('organisations.below', { name: crumb(organisation.parent_id) })
          : t('organisations.isRoot')
      }
      onClose={onClose}
    >
      {manages && (
        <div className="panel-actions">
          <Button onClick={() => onAct('add')}>{t('organisations.addBelow')}</Button>
          <Button onClick={() => onAct('rename')}>{t('organisations.rename')}</Button>
          {!root && <Button onClick={() => onAct('move')}>{t('organisations.move')}</Button>}
          {!root && (
            <Button danger onClick={() => onAct('delete')}>
              {t('organisations.delete')}
            </Button>
          )}
        </div>
      )}
      <Section title={t('organisations.inside')}>
        <dl className="facts">
          <dt>{t('organisations.people')}</dt>
          <dd>
            {may('people.read') ? (
              <Link to="/people" search={{ organisation: organisation.id }}>
                {t('people.count', { count: organisation.people_count })}
              </Link>
            ) : (
              organisation.people_count
            )}
          </dd>
          <dt>{t('organisations.belowIt')}</dt>
          <dd>
            {children.length > 0
              ? children.map((child) => (
                  <div key={child.id}>
                    <Link to="." search={{ node: child.id }}>
                      {child.name}
                    </Link>
                  </div>
                ))
              : t('organisations.nothing')}
          </dd>
          {readable && (
            <>
              <dt>{t('organisations.ownRoles')}</dt>
              <dd>
                {own.length > 0
                  ? own.map((role) => (
                      <div key={role.id}>
                        <Link to="/roles" search={{ role: role.id }}>
                          {role.name}
                        </Link>
                      </div>
                    ))
                  : t('organisations.nothing')}
              </dd>
            </>
          )}
          <dt>{t('organisations.created')}</dt>
          <dd>{day(organisation.created_at)}</dd>
        </dl>
      </Section>
      {may('audit.read') && (
        <p className="small">
          <Link to="/audit" search={{ object: organisation.id, name: organisation.name }}>
            {t('people.history')}
          </Link>
        </p>
      )}
    </SidePanel>
  );
}
