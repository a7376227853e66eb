// Cache of results, so that each batch of data is fetched once.

/** Remembers the results of a function, and forgets failures. */
export function memoize<Key, Value>(find: (key: Key) => Promise<Value>): (key: Key) => Promise<Value> {
  const known = new Map<Key, Promise<Value>>();
  return (key) => {
    let value = known.get(key);
    if (!value) {
      value = find(key);
      known.set(key, value);
      value.catch(() => known.delete(key));
    }
    return value;
  };
}
