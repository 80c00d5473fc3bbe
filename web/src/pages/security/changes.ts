export type Values = Record<string, unknown>;

export interface FieldChange {
  field: string;
  gone: unknown[];
  come: unknown[];
}

const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What differs between before and after, field by field; lists by their members. */
export function fieldChanges(
  before: Values | null | undefined,
  after: Values | null | undefined,
): { changed: FieldChange[]; same: string[] } {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed: FieldChange[] = [];
  const same: string[] = [];
  for (const field of fields) {
    const was = before?.[field];
    const is = after?.[field];
    if (before && after && equal(was, is)) same.push(field);
    else if (Array.isArray(was) || Array.isArray(is)) changed.push(listChange(field, asList(was), asList(is)));
    else
      changed.push({ field, gone: before && field in before ? [was] : [], come: after && field in after ? [is] : [] });
  }
  // A new thing says nothing by fields that were left empty.
  const telling = changed.filter(({ gone, come }) =>
    [...gone, ...come].some((value) => value !== null && value !== ''),
  );
  return { changed: telling, same };
}

const asList = (value: unknown): unknown[] =>
  Array.isArray(value) ? (value as unknown[]) : value === undefined || value === null ? [] : [value];

function listChange(field: string, was: unknown[], is: unknown[]): FieldChange {
  const missing = (from: unknown[], other: unknown[]) =>
    from.filter((one) => !other.some((another) => equal(one, another)));
  return { field, gone: missing(was, is), come: missing(is, was) };
}
