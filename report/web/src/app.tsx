// The page: the trace, the tabs, and the view of the selected one.

import { ClocksView } from "./clocks/clocks";
import { NotSeen } from "./clocks/not_seen";
import { colorNodes } from "./colors";
import { ContextsView } from "./contexts/contexts";
import type { Source } from "./data/source";
import type { Overview } from "./data/types";
import { EvidenceView } from "./evidence_view";
import { Facts } from "./facts";
import { count, duration, expected, plural } from "./format";
import { Loading, Panel, Tabs, Title } from "./frame";
import { Help } from "./help";
import { KEYS, KEYS_OF_REQUESTS } from "./keys";
import { MapView } from "./map/map";
import { Detail } from "./pattern/detail";
import { type Listed, useListed } from "./patterns/chosen";
import { PatternList } from "./patterns/list";
import { Shares } from "./patterns/shares";
import { choose, pattern, tab, TABS, type Tab } from "./state";
import { OverTime } from "./time/over_time";
import { WorkloadView } from "./workload/workload";

const LABELS: Record<Tab, string> = { patterns: "Patterns", map: "Map", time: "Over time", clocks: "Clocks and gaps", contexts: "Contexts", requests: "Requests" };

export function App({ source }: { source: Source }) {
  const load = async () => {
    const overview = await source.overview();
    colorNodes(overview);
    return overview;
  };
  return <Loading load={load} show={(overview) => <Loaded source={source} overview={overview} />} />;
}

interface Shown {
  source: Source;
  overview: Overview;
}

function Loaded({ source, overview }: Shown) {
  const listed = useListed(overview);
  return (
    <>
      <Header overview={overview} />
      <Panel name={tab.value}>
        {tab.value === "patterns" && <Patterns source={source} overview={overview} {...listed} />}
        {tab.value === "map" && <MapView overview={overview} />}
        {tab.value === "time" && <OverTime source={source} overview={overview} rank={listed.chosen} />}
        {tab.value === "clocks" && <ClocksView overview={overview} />}
        {tab.value === "contexts" && <ContextsView source={source} overview={overview} />}
        {tab.value === "requests" && <WorkloadView source={source} overview={overview} />}
      </Panel>
      <Help keys={overview.workload ? KEYS_OF_REQUESTS : KEYS} />
    </>
  );
}

/** The amount of data: messages of processes or, if the paths are from spans, steps of requests. */
function amounts(overview: Overview): [string, string][] {
  const { requests, steps, messages, processes, hosts } = overview;
  const onHosts: [string, string] = [count(hosts), hosts === 1 ? "host" : "hosts"];
  if (requests === null || steps === null) {
    return [
      [count(messages), messages === 1 ? "message" : "messages"],
      [count(processes), processes === 1 ? "process" : "processes"],
      onHosts,
    ];
  }
  const amount: [string, string][] = [
    [count(requests), requests === 1 ? "request" : "requests"],
    [count(steps), steps === 1 ? "step" : "steps"],
  ];
  // The hosts of spans may be unknown.
  return hosts > 0 ? [...amount, onHosts] : amount;
}

function Header({ overview }: { overview: Overview }) {
  const facts: [string, string][] = [
    [count(overview.pattern_count), overview.pattern_count === 1 ? "pattern" : "patterns"],
    [count(overview.instances), overview.instances === 1 ? "instance" : "instances"],
    [expected(overview.expected_paths), "expected"],
    ...amounts(overview),
    [duration(overview.span), "traced"],
  ];
  // Only messages are counted: a sum of different things is meaningless.
  const halves = overview.one_sided.messages;
  // A link may lead to a tab that this page does not have.
  const isThere = (name: Tab) => (name === "contexts" ? overview.contexts : name === "requests" ? overview.workload : true);
  const tabs = TABS.filter((name) => isThere(name) || tab.value === name);
  const badge = (name: Tab) =>
    name === "clocks" && halves > 0 && (
      <span class="count" title={`${plural(halves, "message")} seen at one end only`}>{count(halves)}</span>
    );
  return (
    <header class="page">
      <Title name="sockcap">{overview.source}</Title>
      {overview.filtered.length > 0 && (
        <p class="part" role="note">
          Only a part of the trace: {overview.filtered.join("; ")}
        </p>
      )}
      {overview.other !== null && <p class="part" role="note">{overview.other}</p>}
      <Facts facts={facts} />
      {overview.evidence && <EvidenceView evidence={overview.evidence} />}
      <NotSeen overview={overview} />
      <Tabs names={tabs} selected={tab} labels={LABELS} badge={badge} />
    </header>
  );
}

function Patterns({ source, overview, rows, found, chosen }: Shown & Listed) {
  const isMissing = pattern.value !== null && chosen === null;
  return (
    <div class={pattern.value === null ? "" : "chosen"}>
      <Shares overview={overview} />
      <div class="panes">
        <PatternList overview={overview} rows={rows} found={found} chosen={chosen} />
        <div class="pane">
          {pattern.value !== null && (
            <button type="button" class="quiet back" onClick={() => choose(null)}>← all patterns</button>
          )}
          {chosen !== null && <Detail key={chosen} source={source} overview={overview} rank={chosen} />}
          {isMissing && <p class="error" role="alert">Pattern #{pattern.value} is not part of this page.</p>}
        </div>
      </div>
    </div>
  );
}
