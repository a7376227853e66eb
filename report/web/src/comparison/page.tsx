// The page of a comparison: the periods, the tabs, and the view of the selected one.

import type { Comparison, ComparisonSource } from "../data/comparison";
import { Facts } from "../facts";
import { count, duration } from "../format";
import { Loading, Panel, Tabs, Title } from "../frame";
import { Help } from "../help";
import { AnswerView } from "./answer";
import { KEYS } from "./keys";
import { ComparedMap } from "./map";
import { Mutations } from "./mutations";
import { tab, TABS, type Tab } from "./state";

const LABELS: Record<Tab, string> = { answer: "What changed", mutations: "Mutations", map: "Map" };

interface Props {
  source: ComparisonSource;
}

export function ComparisonApp({ source }: Props) {
  const show = (comparison: Comparison) => (
    <>
      <Header comparison={comparison} />
      <Panel name={tab.value}>
        {tab.value === "answer" && <AnswerView comparison={comparison} />}
        {tab.value === "mutations" && <Mutations source={source} comparison={comparison} />}
        {tab.value === "map" && <ComparedMap comparison={comparison} />}
      </Panel>
      <Help keys={KEYS} />
    </>
  );
  return <Loading load={() => source.comparison()} show={show} />;
}

function Header({ comparison }: { comparison: Comparison }) {
  const { periods, categories, mutations } = comparison;
  const [before, after] = periods;
  const length = ({ first, last }: typeof before) => (first !== null && last !== null && last > first ? ` in ${duration(last - first)}` : "");
  const facts: [string, string][] = [
    [count(before.requests), `${before.requests === 1 ? "request" : "requests"} before${length(before)}`],
    [count(after.requests), `${after.requests === 1 ? "request" : "requests"} after${length(after)}`],
    [count(categories), categories === 1 ? "category" : "categories"],
    [count(mutations.length), mutations.length === 1 ? "mutation" : "mutations"],
  ];
  const torn = before.torn + after.torn;
  if (torn > 0) facts.push([count(torn), "without their beginning"]);
  const badge = (name: Tab) =>
    name === "mutations" && mutations.length > 0 && <span class="count plain">{count(mutations.length)}</span>;
  return (
    <header class="page">
      <Title name="sockcap diff">{before.name} → {after.name}</Title>
      {comparison.doubts.map((doubt) => <p key={doubt} class="part" role="note">{doubt}</p>)}
      <Facts facts={facts} />
      <Tabs names={TABS} selected={tab} labels={LABELS} badge={badge} />
    </header>
  );
}
