import { useRouter, type RouterHistory } from '@tanstack/react-router';
import { useCallback } from 'react';

/** Goes to a path of this console as it would stand in the address bar. */
export function useGo(): (href: string) => void {
  const history = useRouter().history as RouterHistory;
  return useCallback((href) => history.push(href), [history]);
}
