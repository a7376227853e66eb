// Numbers with their meaning: a value above its label.

export function Facts({ facts }: { facts: [value: string, label: string][] }) {
  return (
    <dl class="facts">
      {facts.map(([value, label]) => (
        <div key={label}>
          <dd>{value}</dd>
          <dt>{label}</dt>
        </div>
      ))}
    </dl>
  );
}
