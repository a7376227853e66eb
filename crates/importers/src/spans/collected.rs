//! Collected spans for tests, and trees of them that tests write in each format.

use std::path::Path;

use proptest::prelude::*;
use request_flow::spans::{ResourceId, Span, SpanKind, SpanResource, TracingId};

use super::receiver::SpanReceiver;
use super::texts::FileText;
use crate::error::Error;
use crate::summary::{FilePosition, SkippedItem};

/// Span that owns everything.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CollectedSpan {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) depth: Option<u32>,
    pub(super) order: Option<i64>,
    pub(super) node: String,
    pub(super) host: String,
    pub(super) operation: String,
    pub(super) kind: SpanKind,
    pub(super) peer: Option<String>,
    pub(super) begin: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) failed: bool,
    pub(super) bytes: [Option<i64>; 2],
    pub(super) parameters: TextPairs,
}

impl CollectedSpan {
    /// Value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }
}

/// Names and values.
type TextPairs = Vec<(String, String)>;

/// Receiver that keeps all spans, and the skipped parts as text.
#[derive(Debug, Default)]
pub(super) struct SpanCollector {
    /// Node, host and parameters of each resource.
    resources: Vec<(String, String, TextPairs)>,
    pub(super) spans: Vec<CollectedSpan>,
    pub(super) skipped: Vec<String>,
}

fn id_text(id: TracingId<'_>) -> String {
    match id {
        TracingId::Number(number) => format!("{number:x}"),
        TracingId::Text(text) => text.to_owned(),
    }
}

fn text_pairs<'a>(of: impl Iterator<Item = (&'a str, &'a str)>) -> TextPairs {
    of.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

impl SpanReceiver for SpanCollector {
    fn resource_id(&mut self, resource: &SpanResource<'_>) -> ResourceId {
        let parameters =
            text_pairs(resource.parameters.iter().map(|(name, value)| (*name, &**value)));
        let id = ResourceId::from_index(self.resources.len());
        self.resources.push((resource.node.to_owned(), resource.host.to_owned(), parameters));
        id
    }

    fn add_span(&mut self, span: &Span<'_>) -> Result<(), Error> {
        let (node, host, shared) = self.resources[span.resource.index()].clone();
        let own = text_pairs(span.parameters.iter().map(|(name, value)| (*name, &**value)));
        self.spans.push(CollectedSpan {
            trace: id_text(span.trace),
            id: id_text(span.id),
            parent: span.parent.map(id_text),
            depth: span.depth,
            order: span.order,
            node,
            host,
            operation: span.operation.to_owned(),
            kind: span.kind,
            peer: span.peer.map(str::to_owned),
            begin: span.begin,
            end: span.end,
            failed: span.failed,
            bytes: [span.bytes_in, span.bytes_out],
            parameters: [shared, own].concat(),
        });
        Ok(())
    }

    fn count_skip(&mut self, _: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.skipped.push(skip().to_string());
    }

    fn count_damage(&mut self, _: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.skipped.push(skip().to_string());
    }
}

/// Lets `read` read a text of file `x`.
pub(super) fn collect_spans(
    text: &str,
    read: impl FnOnce(FileText<'_>, &Path, &mut SpanCollector) -> Result<(), Error>,
) -> SpanCollector {
    let mut kept = SpanCollector::default();
    read(FileText { at: FilePosition::Line(1), bytes: text.as_bytes() }, Path::new("x"), &mut kept)
        .unwrap();
    kept
}

/// Trees of spans: each span has a parent among the previous ones in its trace, or none. Times are
/// whole microseconds, ids are numbers.
pub(super) fn span_trees() -> impl Strategy<Value = Vec<CollectedSpan>> {
    let kind = prop::sample::select(vec![
        SpanKind::Unknown,
        SpanKind::Client,
        SpanKind::Server,
        SpanKind::Producer,
        SpanKind::Consumer,
    ]);
    let text = "[a-z \"\\\\\n{}éß,;]{0,8}";
    let tags = prop::collection::btree_map("[a-d]{1,2}\\.[a-z\"{]{1,3}", text, 0..4);
    let end = prop::option::of(0i64..1_000_000);
    let times = (1i64..4_000_000_000_000_000, end);
    let one = (any::<u64>(), 0u128..3, kind, text, "[a-c]{1,2}", times, any::<bool>(), tags);
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let mut spans: Vec<CollectedSpan> = Vec::new();
        for (place, (random, trace, kind, operation, node, times, failed, tags)) in
            all.into_iter().enumerate()
        {
            let trace = format!("{:x}", (trace + 1) << 80);
            let parents: Vec<_> = spans.iter().filter(|other| other.trace == trace).collect();
            let parent = parents.get(random as usize % (parents.len() + 1));
            spans.push(CollectedSpan {
                id: format!("{:x}", ((place as u64 + 1) << 48) | random >> 16),
                parent: parent.map(|parent| parent.id.clone()),
                trace,
                depth: None,
                order: None,
                host: format!("10.0.0.{}", node.len()),
                node,
                operation,
                kind,
                peer: None,
                begin: Some(times.0 * 1_000),
                end: times.1.map(|duration| (times.0 + duration) * 1_000),
                failed,
                bytes: [None; 2],
                parameters: tags.into_iter().collect(),
            });
        }
        spans
    })
}
