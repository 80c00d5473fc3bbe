import { Button, Form, Input } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { CloseIcon, PlusIcon } from '../../../components/icons';
import { VARIABLE } from './values';

interface Props {
  name: 'given' | 'variables' | 'hidden';
  title: string;
  hint?: ReactNode;
  add: string;
  /** The field of the value; text where none is given. */
  value?: (label: string) => ReactNode;
}

/** Names with values, one a line. */
export function PairList({ name, title, hint, add, value }: Props) {
  const { t } = useTranslation();
  return (
    <Form.Item extra={hint} className="pairs">
      <Form.List name={name}>
        {(fields, { add: append, remove }) => (
          <>
            {fields.map((field) => {
              const label = `${title}: ${t('launch.variableValue')} ${field.name + 1}`;
              return (
                <div key={field.key} className="pair-line">
                  <Form.Item
                    name={[field.name, 'name']}
                    noStyle
                    rules={[{ pattern: VARIABLE, message: t('launch.variableRule') }]}
                  >
                    <Input
                      className="mono"
                      aria-label={`${title}: ${t('launch.variableName')} ${field.name + 1}`}
                      placeholder={t('launch.variableName')}
                      maxLength={100}
                      autoComplete="off"
                      spellCheck={false}
                      autoCapitalize="none"
                    />
                  </Form.Item>
                  <Form.Item name={[field.name, 'value']} noStyle>
                    {value?.(label) ?? (
                      <Input
                        className="mono"
                        aria-label={label}
                        placeholder={t('launch.variableValue')}
                        maxLength={8192}
                        autoComplete="off"
                        spellCheck={false}
                        autoCapitalize="none"
                      />
                    )}
                  </Form.Item>
                  <Button
                    type="text"
                    icon={<CloseIcon />}
                    aria-label={t('launch.remove', { name: `${title} ${field.name + 1}` })}
                    onClick={() => remove(field.name)}
                  />
                </div>
              );
            })}
            <Button size="small" icon={<PlusIcon />} onClick={() => append({})}>
              {add}
            </Button>
          </>
        )}
      </Form.List>
    </Form.Item>
  );
}
