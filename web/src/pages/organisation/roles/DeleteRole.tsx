import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Modal } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../../api/client';
import { deleteThing } from '../../../api/deletion';
import { keys } from '../../../api/keys';
import type { Role } from '../../../api/models';
import { ConfirmByName } from '../../../components/Modals';

/** A role somebody has is not deleted: it says who must lose it first. */
export function DeleteRole({
  role,
  onClose,
  onDeleted,
}: {
  role: Role | null;
  onClose: () => void;
  onDeleted: () => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const used = role !== null && role.people_count > 0;
  return (
    <>
      <Modal
        open={used}
        title={t('roles.cannotDelete', { name: role?.name })}
        onCancel={onClose}
        destroyOnHidden
        footer={<Button onClick={onClose}>{t('action.close')}</Button>}
      >
        <p className="text-2">
          {t('roles.takeFirst', { count: role?.people_count ?? 0 })}{' '}
          <Link to="/people" search={{ role: role?.id }}>
            {t('roles.showThem')}
          </Link>
        </p>
      </Modal>
      <ConfirmByName
        open={role !== null && !used}
        title={t('roles.deleteTitle', { name: role?.name })}
        text={t('roles.deleteText')}
        name={role?.name}
        action={t('roles.delete')}
        keep={t('roles.keep')}
        onConfirm={async () => {
          if (!role) return;
          await deleteThing(role.id, () =>
            body(
              client.DELETE('/api/v1/roles/{role_id}', {
                params: { path: { role_id: role.id }, header: ifMatch(role) },
              }),
            ),
          );
          onDeleted();
          await queries.invalidateQueries({ queryKey: keys.roles });
        }}
        onClose={onClose}
      />
    </>
  );
}
