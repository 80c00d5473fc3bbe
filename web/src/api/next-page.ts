const MOST_TRIES = 5;

interface Pages {
  data?: { pages: unknown[] };
  fetchNextPage: (options: { cancelRefetch: boolean }) => Promise<{ data?: { pages: unknown[] } }>;
}

/** One more page of a list. A refetch that a change has begun is not given up for it: the page comes after it. */
export async function nextPage(list: Pages): Promise<void> {
  const before = list.data?.pages.length ?? 0;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const { data } = await list.fetchNextPage({ cancelRefetch: false });
    if ((data?.pages.length ?? 0) > before) return;
  }
}
