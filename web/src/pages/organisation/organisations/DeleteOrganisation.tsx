import { useQueryClient } from '@tanstack/react-query';
import { Button, Modal } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../../api/client';
import { deleteThing } from '../../../api/deletion';
import { keys } from '../../../api/keys';
import type { Organisation } from '../../../api/models';
import { ConfirmByName } from '../../../components/Modals';
import { usePlaces } from '../places';
import { useRoles } from '../roles-known';

/** Deletes an empty organisation after its name was typed; one that is not empty says what must leave first. */
export function DeleteOrganisation({
  organisation,
  onClose,
  onDeleted,
}: {
  organisation: Organisation | null;
  onClose: () => void;
  onDeleted: () => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const obstacles = useObstacles(organisation);
  const name = organisation?.name ?? '';
  return (
    <>
      <Modal
        open={organisation !== null && obstacles.length > 0}
        title={t('organisations.cannotDelete', { name })}
        onCancel={onClose}
        destroyOnHidden
        footer={<Button onClick={onClose}>{t('action.close')}</Button>}
      >
        <p className="text-2">{t('organisations.stillHas', { what: obstacles.join(t('people.comma')) })}</p>
      </Modal>
      <ConfirmByName
        open={organisation !== null && obstacles.length === 0}
        title={t('organisations.deleteTitle', { name })}
        text={t('organisations.deleteText')}
        name={name}
        action={t('organisations.delete')}
        keep={t('organisations.keep')}
        onConfirm={async () => {
          if (!organisation) return;
          await deleteThing(organisation.id, () =>
            body(
              client.DELETE('/api/v1/organisations/{organisation_id}', {
                params: { path: { organisation_id: organisation.id }, header: ifMatch(organisation) },
              }),
            ),
          );
          onDeleted();
          await queries.invalidateQueries({ queryKey: keys.organisations });
        }}
        onClose={onClose}
      />
    </>
  );
}

/** What must leave first, as far as it is known here; the server knows the rest and says it. */
function useObstacles(organisation: Organisation | null): string[] {
  const { t } = useTranslation();
  const { nodes } = usePlaces();
  const { roles } = useRoles();
  if (!organisation) return [];
  const below = nodes.filter((node) => node.parent_id === organisation.id).length;
  const own = roles?.filter((role) => role.organisation_id === organisation.id).length ?? 0;
  return [
    below > 0 && t('organisations.count', { count: below }),
    organisation.people_count > 0 && t('people.count', { count: organisation.people_count }),
    own > 0 && t('organisations.rolesCount', { count: own }),
  ].filter((one) => one !== false);
}
