import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import type { components } from '../../../api/schema';
import { visible } from '../../../components/visible';
import type { Series } from './chart-scale';

type Samples = components['schemas']['SampleAnswer'];
type Reported = components['schemas']['ReportedMetrics'];

const GIB = 1024 ** 3;
const charts = [
  { metric: 'cpu_milli', words: 'work.chart.cpu', scale: 1000 },
  { metric: 'memory_bytes', words: 'work.chart.memory', scale: GIB },
  { metric: 'gpu_memory_mib', words: 'work.chart.gpuMemory', scale: 1024 },
  { metric: 'gpu_busy_percent', words: 'work.chart.gpuBusy', scale: 1 },
] as const;

/** What was reported and what was sampled, as far as there is any; a chart without a value is left out. */
export function useSeries(
  work: WorkloadDetail,
  samples: Samples | undefined,
  reported: Reported | undefined,
): Series[] {
  const { t } = useTranslation();
  const asked: Partial<Record<string, number>> = {
    cpu_milli: (work.resources.cpu_milli * work.replicas) / 1000,
    memory_bytes: (work.resources.memory_mib * work.replicas) / 1024,
  };
  // Each GPU is 100 %.
  const tops: Partial<Record<string, number>> = {
    gpu_busy_percent: 100 * (work.resources.gpu?.count ?? 1) * work.replicas,
  };
  const sampled = charts.flatMap(({ metric, words, scale }) => {
    const points = samples?.items.find((one) => one.metric === metric)?.points ?? [];
    return points.length === 0
      ? []
      : [
          {
            key: metric,
            title: t(words),
            asked: asked[metric],
            top: tops[metric],
            points: points.map((point) => ({ at: Date.parse(point.at), value: point.mean / scale })),
          },
        ];
  });
  return [...told(reported), ...sampled];
}

/** One line per name: what replica 0 reported, over all attempts. */
function told(reported: Reported | undefined): Series[] {
  const names = [...new Set(reported?.items.map((one) => one.name))];
  return names.map((name) => ({
    key: `reported-${name}`,
    title: visible(name),
    joined: true,
    points: (reported?.items ?? [])
      .filter((one) => one.name === name && one.replica === 0)
      .flatMap((one) =>
        one.points.flatMap((point) =>
          point.mean === null ? [] : [{ at: Date.parse(point.at), value: point.mean, attempt: one.attempt }],
        ),
      ),
  }));
}
