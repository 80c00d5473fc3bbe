import type { FormInstance } from 'antd';
import { useCallback, useState } from 'react';
import { ApiError, formFields } from '../api/errors';

/**
 * Sends a form once. Field problems go to their fields; the rest is kept in `error` for a
 * ProblemNotice above the form.
 */
export function useSubmit<Values, Result>(form: FormInstance, send: (values: Values) => Promise<Result>, then?: (result: Result) => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = useCallback(
    async (values: Values) => {
      setBusy(true);
      setError(null);
      try {
        const result = await send(values);
        then?.(result);
      } catch (problem) {
        if (!(problem instanceof ApiError)) throw problem;
        const fields = formFields(problem);
        const present = Object.keys(form.getFieldsValue() as object);
        const known = fields.filter(({ name }) => present.includes(name[0] ?? ''));
        form.setFields(known);
        if (fields.length === 0 || known.length < fields.length) setError(problem);
      } finally {
        setBusy(false);
      }
    },
    [form, send, then],
  );
  return { submit, busy, error, clear: () => setError(null) };
}
