import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import type { Runtime, RuntimePreset } from '../../../api/models';
import { Section } from '../../../components/Page';
import { ProblemNotice } from '../../../components/States';

/** Runtimes that need no list: one click each, until one has them. */
export function Presets({
  presets,
  runtimes,
  onMade,
}: {
  presets: RuntimePreset[];
  runtimes: Runtime[];
  onMade: (runtime: Runtime) => void;
}) {
  const { t, i18n } = useTranslation();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const left = presets.filter((preset) => !runtimes.some((runtime) => runtime.name === preset.name));
  if (left.length === 0) return null;
  const about = (preset: RuntimePreset): string => {
    const key = `runtimes.preset.${preset.name}`;
    return i18n.exists(key) ? (t as unknown as (key: string) => string)(key) : preset.about;
  };
  const make = async (preset: RuntimePreset) => {
    setBusy(true);
    setError(null);
    try {
      onMade(
        await body(
          client.POST('/api/v1/runtimes', {
            params: { header: idempotencyKey() },
            body: { name: preset.name } as never,
          }),
        ),
      );
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="presets">
      <Section title={t('runtimes.presets')} note={t('runtimes.presetsNote')}>
        {error !== null && <ProblemNotice error={error} />}
        {left.map((preset) => (
          <div key={preset.name} className="row">
            <span className="grow">
              <span className="strong">{preset.name}</span>
              <span className="small text-2" style={{ display: 'block' }}>
                {about(preset)}
              </span>
            </span>
            <Button
              size="small"
              disabled={busy}
              aria-label={t('runtimes.buildNamed', { name: preset.name })}
              onClick={() => void make(preset)}
            >
              {t('runtimes.build')}
            </Button>
          </div>
        ))}
      </Section>
    </div>
  );
}
