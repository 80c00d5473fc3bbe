import { Checkbox } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Permission } from '../../../api/models';
import { usePermissionWords } from '../../../components/permission-words';
import { areaOf, areas, inOrder } from '../roles-known';

interface Props {
  all: readonly Permission[];
  /** What one holds where the role is for; the rest cannot be changed. */
  held: ReadonlySet<Permission>;
  value?: readonly Permission[];
  onChange?: (value: Permission[]) => void;
}

/** Permissions by area, each in words. */
export function PermissionChecklist({ all, held, value = [], onChange }: Props) {
  const { t } = useTranslation();
  const words = usePermissionWords();
  const toggle = (permission: Permission, on: boolean) =>
    onChange?.(all.filter((one) => (one === permission ? on : value.includes(one))));
  const missing = all.filter((permission) => !held.has(permission));
  return (
    <div className="checklist">
      {areas.map((area) => (
        <fieldset key={area}>
          <legend>{t(`roles.area.${area}`)}</legend>
          {inOrder(all)
            .filter((permission) => areaOf(permission) === area)
            .map((permission) => (
              <Checkbox
                key={permission}
                checked={value.includes(permission)}
                disabled={!held.has(permission)}
                onChange={(event) => toggle(permission, event.target.checked)}
              >
                {words(permission)}
              </Checkbox>
            ))}
        </fieldset>
      ))}
      {missing.length > 0 && <p className="effect">{t('roles.onlyHeld')}</p>}
    </div>
  );
}
