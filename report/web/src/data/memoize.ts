// Cache of what was asked for, so that each piece of data is fetched once.

/** Remembers what a function found, and forgets what failed. */
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
