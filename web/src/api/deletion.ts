/** Ids of what was deleted here, or is being deleted. An id is never given twice, so they stay. */
const deleted = new Set<string>();

/**
 * Deletes something. From here on nothing asks for it any more, although it stays on the screen until the answer is
 * there and the page has moved on: the event of its deletion may come before both.
 */
export async function deleteThing<T>(id: string, send: () => Promise<T>): Promise<T> {
  deleted.add(id);
  try {
    return await send();
  } catch (problem) {
    deleted.delete(id);
    throw problem;
  }
}

/** Whether a query asks for something that was deleted here. */
export function asksForDeleted({ queryHash }: { queryHash: string }): boolean {
  return [...deleted].some((id) => queryHash.includes(id));
}
