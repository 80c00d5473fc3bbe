type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const PLAIN = /^[A-Za-z_./][\w./ -]*$/;
const WORDS = /^(?:true|false|yes|no|on|off|null|~|y|n)$/i;

function scalar(value: Json): string {
  if (typeof value === 'string') return PLAIN.test(value) && !WORDS.test(value) && !value.endsWith(' ') ? value : JSON.stringify(value);
  return JSON.stringify(value);
}

const isEmpty = (value: Json): boolean => typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const isFlat = (value: Json): value is Exclude<Json, Json[] | { [key: string]: Json }> => typeof value !== 'object' || value === null;

/** A document as YAML that every YAML 1.2 reader understands; strings that could be taken for something else are quoted. */
export function toYaml(value: { [key: string]: Json }, indent = ''): string {
  return Object.entries(value)
    .map(([key, one]) => {
      const name = PLAIN.test(key) && !WORDS.test(key) ? key : JSON.stringify(key);
      if (isFlat(one)) return `${indent}${name}: ${scalar(one)}\n`;
      if (isEmpty(one)) return `${indent}${name}: ${Array.isArray(one) ? '[]' : '{}'}\n`;
      if (Array.isArray(one)) return `${indent}${name}:\n${one.map((item) => `${indent}  - ${isFlat(item) ? scalar(item) : JSON.stringify(item)}\n`).join('')}`;
      return `${indent}${name}:\n${toYaml(one, `${indent}  `)}`;
    })
    .join('');
}

/** A stored document as one would write it to have the same again: without what Corral added and what says nothing. */
export function toGive(spec: Record<string, unknown>): { [key: string]: Json } {
  const added = new Set(['pool_ids', ...(spec.flavor ? ['resources'] : [])]);
  return clean(Object.fromEntries(Object.entries(spec as Record<string, Json>).filter(([key]) => !added.has(key))));
}

function clean(value: { [key: string]: Json }): { [key: string]: Json } {
  const kept = Object.entries(value).filter(([, one]) => one !== null && !isEmpty(one));
  return Object.fromEntries(kept.map(([key, one]) => [key, isFlat(one) || Array.isArray(one) ? one : clean(one)]));
}
