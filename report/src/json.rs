//! The report as one JSON document, for programs: every field of every pattern by the names of the
//! patterns' table, with the metrics by which it can be ranked. Times are in nanoseconds; what was
//! not measured is null.

use std::io::{self, Write};

use analyze::paths::{Connects, Hop, PathFilter, PathPattern};
use serde::Serialize;

use crate::delays::{DelayRow, DelaysOf};
use crate::{DelayReport, Filtered, Meta, Options, Output, Report, families};

/// Writes one JSON object and a line feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Output for Json {
    fn write(&self, report: &Report<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let document = Document::of(report, options);
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}

impl Json {
    /// Writes delays by node or by hop as one JSON object and a line feed.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write_delays(
        &self,
        report: &DelayReport<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (instances, expected_paths, total_time) = report.instances();
        let document = DelayDocument {
            trace: Trace::of(&report.meta),
            expected_paths,
            instances,
            sort: options.sort.name(),
            total_time,
            delays: report.ranked(options).iter().map(JsonDelays::of).collect(),
        };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}

/// What every document begins with.
#[derive(Serialize)]
struct Trace<'a> {
    source: &'a str,
    messages: u64,
    processes: u64,
    hosts: u64,
    span: i64,
    not_seen: Vec<NotSeen<'a>>,
    /// What the document is about where that is not all; null where it is.
    filter: Option<JsonFilter<'a>>,
}

#[derive(Serialize)]
struct JsonFilter<'a> {
    through: &'a [String],
    patterns: &'a [i64],
    from: Option<i64>,
    to: Option<i64>,
    min_confidence: Option<f64>,
    of_patterns: u64,
    of_instances: u64,
}

#[derive(Serialize)]
struct DelayDocument<'a> {
    #[serde(flatten)]
    trace: Trace<'a>,
    expected_paths: f64,
    instances: u64,
    sort: &'static str,
    total_time: f64,
    delays: Vec<JsonDelays<'a>>,
}

/// A node with its latency, or a hop with that of its network.
#[derive(Serialize)]
struct JsonDelays<'a> {
    #[serde(flatten)]
    of: JsonDelaysOf<'a>,
    count: u64,
    expected: f64,
    mean: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
    total_time: f64,
    share: f64,
    bytes: f64,
    #[serde(flatten)]
    connect: Option<JsonConnects>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonDelaysOf<'a> {
    Node {
        node: &'a str,
        traced: bool,
    },
    Hop {
        src: &'a str,
        dst: &'a str,
        src_port: &'a str,
        dst_port: &'a str,
        protocol: &'static str,
        src_traced: bool,
        dst_traced: bool,
    },
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    trace: Trace<'a>,
    expected_paths: f64,
    sort: &'static str,
    /// How many patterns there are, of which `patterns` may be a part.
    pattern_count: u64,
    total_time: f64,
    patterns: Vec<Pattern<'a>>,
}

#[derive(Serialize)]
struct NotSeen<'a> {
    label: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct Pattern<'a> {
    pattern: i64,
    /// The number of the pattern that stands for all of the same hops.
    family: i64,
    count: i64,
    expected: f64,
    expected_per_count: f64,
    expected_per_root_count: f64,
    max_probability: f64,
    duration_mean: f64,
    duration_p50: f64,
    duration_p99: f64,
    total_time: f64,
    share: f64,
    hops: Vec<JsonHop<'a>>,
}

#[derive(Serialize)]
struct JsonHop<'a> {
    hop: usize,
    parent: Option<usize>,
    depth: usize,
    src: &'a str,
    dst: &'a str,
    src_port: &'a str,
    dst_port: &'a str,
    protocol: &'static str,
    src_traced: bool,
    dst_traced: bool,
    bytes: f64,
    node_mean: Option<f64>,
    node_p50: Option<f64>,
    node_p99: Option<f64>,
    network_mean: Option<f64>,
    network_p50: Option<f64>,
    network_p99: Option<f64>,
    untraced_mean: Option<f64>,
    untraced_p50: Option<f64>,
    untraced_p99: Option<f64>,
    #[serde(flatten)]
    connect: Option<JsonConnects>,
}

/// The time for which connections were made; left out where none was.
#[derive(Serialize)]
struct JsonConnects {
    connect_count: i64,
    connect_expected: f64,
    connect_mean: f64,
    connect_p50: f64,
    connect_p99: f64,
}

impl JsonConnects {
    fn of(connects: Connects) -> JsonConnects {
        let Connects { count, expected, delay, .. } = connects;
        JsonConnects {
            connect_count: count,
            connect_expected: expected,
            connect_mean: delay.mean,
            connect_p50: delay.p50,
            connect_p99: delay.p99,
        }
    }
}

impl<'a> Trace<'a> {
    fn of(meta: &'a Meta) -> Trace<'a> {
        let notes = meta.notes.iter().filter(|note| note.count > 0);
        Trace {
            source: &meta.source,
            messages: meta.messages,
            processes: meta.processes,
            hosts: meta.hosts,
            span: meta.span,
            not_seen: notes.map(|note| NotSeen { label: &note.label, count: note.count }).collect(),
            filter: meta.filtered.as_ref().map(JsonFilter::of),
        }
    }
}

impl<'a> JsonFilter<'a> {
    fn of(filtered: &'a Filtered) -> JsonFilter<'a> {
        let PathFilter { through, patterns, from, to, min_confidence } = &filtered.filter;
        JsonFilter {
            through,
            patterns,
            from: *from,
            to: *to,
            min_confidence: *min_confidence,
            of_patterns: filtered.of_patterns,
            of_instances: filtered.of_instances,
        }
    }
}

impl<'a> JsonDelays<'a> {
    fn of(row: &DelayRow<'a>) -> JsonDelays<'a> {
        let of = match row.of {
            DelaysOf::Node(node) => JsonDelaysOf::Node { node: &node.node, traced: node.traced },
            DelaysOf::Hop(hop) => JsonDelaysOf::Hop {
                src: &hop.src,
                dst: &hop.dst,
                src_port: &hop.src_port,
                dst_port: &hop.dst_port,
                protocol: hop.protocol.name(),
                src_traced: hop.src_traced,
                dst_traced: hop.dst_traced,
            },
        };
        let delays = row.delays;
        JsonDelays {
            of,
            count: delays.count,
            expected: delays.expected,
            mean: delays.delay.map(|delay| delay.mean),
            p50: delays.delay.map(|delay| delay.p50),
            p99: delays.delay.map(|delay| delay.p99),
            total_time: delays.total_time,
            share: row.share,
            bytes: delays.bytes,
            connect: delays.connect.map(JsonConnects::of),
        }
    }
}

impl<'a> Document<'a> {
    fn of(report: &'a Report<'a>, options: &Options) -> Document<'a> {
        let total_time = report.total_time();
        let ranked = report.ranked(options);
        let leads = families::leads(&ranked);
        let lead = |pattern: &PathPattern| leads.get(&pattern.id).copied().unwrap_or(pattern.id);
        Document {
            trace: Trace::of(&report.meta),
            expected_paths: report.meta.expected_paths,
            sort: options.sort.name(),
            pattern_count: report.pattern_count(),
            total_time,
            patterns: ranked
                .into_iter()
                .map(|pattern| Pattern::of(pattern, lead(pattern), total_time))
                .collect(),
        }
    }
}

impl<'a> Pattern<'a> {
    fn of(pattern: &'a PathPattern, family: i64, total_time: f64) -> Pattern<'a> {
        Pattern {
            pattern: pattern.id,
            family,
            count: pattern.count,
            expected: pattern.expected,
            expected_per_count: pattern.expected_per_count(),
            expected_per_root_count: pattern.expected_per_root_count(),
            max_probability: pattern.max_probability,
            duration_mean: pattern.duration.mean,
            duration_p50: pattern.duration.p50,
            duration_p99: pattern.duration.p99,
            total_time: pattern.total_time,
            share: crate::summary::share(pattern.total_time, total_time),
            hops: pattern
                .hops
                .iter()
                .enumerate()
                .map(|(index, hop)| JsonHop::of(index, hop))
                .collect(),
        }
    }
}

impl<'a> JsonHop<'a> {
    fn of(index: usize, hop: &'a Hop) -> JsonHop<'a> {
        JsonHop {
            hop: index,
            parent: hop.parent,
            depth: hop.depth,
            src: &hop.src,
            dst: &hop.dst,
            src_port: &hop.src_port,
            dst_port: &hop.dst_port,
            protocol: hop.protocol.name(),
            src_traced: hop.src_traced,
            dst_traced: hop.dst_traced,
            bytes: hop.bytes,
            node_mean: hop.node.map(|delay| delay.mean),
            node_p50: hop.node.map(|delay| delay.p50),
            node_p99: hop.node.map(|delay| delay.p99),
            network_mean: hop.network.map(|delay| delay.mean),
            network_p50: hop.network.map(|delay| delay.p50),
            network_p99: hop.network.map(|delay| delay.p99),
            untraced_mean: hop.untraced.map(|delay| delay.mean),
            untraced_p50: hop.untraced.map(|delay| delay.p50),
            untraced_p99: hop.untraced.map(|delay| delay.p99),
            connect: hop.connect.map(JsonConnects::of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SortKey, samples};

    fn written(patterns: &[PathPattern], options: &Options) -> serde_json::Value {
        let mut out = Vec::new();
        Json.write(&Report { patterns, meta: samples::meta() }, options, &mut out).unwrap();
        assert!(out.ends_with(b"}\n"));
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn all_is_there() {
        let patterns = samples::some();
        let json = written(&patterns, &Options::default());
        assert_eq!((&json["messages"], &json["sort"]), (&2416.into(), &"total".into()));
        assert_eq!(
            json["not_seen"].as_array().unwrap().len(),
            2,
            "what did not happen is left out"
        );
        let lookup = json["patterns"]
            .as_array()
            .unwrap()
            .iter()
            .find(|pattern| pattern["pattern"] == 2)
            .unwrap();
        assert_eq!(lookup["count"], 88);
        assert_eq!(lookup["expected_per_count"], patterns[2].expected_per_count());
        assert_eq!(lookup["hops"][3]["untraced_mean"], 2.2e6);
        assert_eq!(lookup["hops"][3]["node_mean"], serde_json::Value::Null);
        assert_eq!(lookup["hops"][2]["protocol"], "udp");
        let shares: f64 = json["patterns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pattern| pattern["share"].as_f64().unwrap())
            .sum();
        assert!((shares - 1.0).abs() < 1e-9);
    }

    #[test]
    fn connecting_is_told_where_there_is_some() {
        let json = written(&[samples::connecting()], &Options::default());
        let hops = &json["patterns"][0]["hops"];
        assert_eq!(
            (&hops[2]["connect_mean"], &hops[2]["connect_count"]),
            (&4e7.into(), &53.into())
        );
        assert_eq!(hops[1].get("connect_mean"), None);
    }

    #[test]
    fn order_and_length_are_chosen() {
        let options = Options { sort: SortKey::Count, limit: Some(2), ..Options::default() };
        let json = written(&samples::some(), &options);
        let ids: Vec<i64> = json["patterns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pattern| pattern["pattern"].as_i64().unwrap())
            .collect();
        assert_eq!(ids, [0, 1]);
        assert_eq!(json["pattern_count"], 4);
    }

    #[test]
    fn a_part_says_of_what() {
        let filter =
            PathFilter { through: vec!["app".into()], from: Some(7), ..PathFilter::default() };
        let filtered = Filtered { filter, begin: 5, of_patterns: 9, of_instances: 400 };
        let meta = Meta { filtered: Some(filtered), ..samples::meta() };
        let mut out = Vec::new();
        Json.write(&Report { patterns: &samples::some(), meta }, &Options::default(), &mut out)
            .unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let expected = serde_json::json!({
            "through": ["app"], "patterns": [], "from": 7, "to": null, "min_confidence": null,
            "of_patterns": 9, "of_instances": 400
        });
        assert_eq!(json["filter"], expected);
        assert_eq!(
            written(&samples::some(), &Options::default())["filter"],
            serde_json::Value::Null
        );
    }

    #[test]
    fn delays_are_rows_by_rank() {
        let (nodes, hops) = samples::delays();
        let written = |table: &crate::DelaysBy, sort| {
            let report = DelayReport { table, meta: samples::meta() };
            let mut out = Vec::new();
            Json.write_delays(&report, &Options { sort, ..Options::default() }, &mut out).unwrap();
            serde_json::from_slice::<serde_json::Value>(&out).unwrap()
        };
        let json = written(&nodes, SortKey::Total);
        assert_eq!(
            (&json["messages"], &json["instances"], &json["sort"]),
            (&2416.into(), &400.into(), &"total".into())
        );
        assert_eq!(json["delays"][0]["node"], "shop.py");
        assert_eq!(
            (&json["delays"][0]["count"], &json["delays"][0]["mean"]),
            (&800.into(), &2e6.into())
        );
        // 800 messages of probability 0.75 and 2 ms, of 400 paths of 10 ms likewise.
        assert_eq!(json["delays"][0]["share"], 0.4);
        let json = written(&hops, SortKey::Count);
        let last = json["delays"].as_array().unwrap().last().unwrap();
        assert_eq!(
            (&last["src"], &last["dst_port"], &last["mean"]),
            (&"shop.py".into(), &"53".into(), &serde_json::Value::Null)
        );
        assert_eq!((&last["protocol"], &last["dst_traced"]), (&"udp".into(), &false.into()));
    }

    #[test]
    fn nothing_is_a_document_too() {
        let json = written(&[], &Options::default());
        assert_eq!(json["patterns"], serde_json::json!([]));
        assert_eq!(json["total_time"], 0.0);
    }
}
