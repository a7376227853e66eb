//! Spans that tests keep, and trees of them that tests write in each format.

use std::path::Path;

use proptest::prelude::*;
use request_flow::spans::{Id, Resource, ResourceId, Span, SpanKind};

use super::receiver::Receiver;
use super::texts::Text;
use crate::error::Error;
use crate::summary::{At, Skip};

/// A span with all that it borrowed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeptSpan {
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
    pub(super) parameters: Texts,
}

impl KeptSpan {
    /// The value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }
}

/// Names and values.
type Texts = Vec<(String, String)>;

/// A receiver that keeps all spans, and what was passed over in words.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Node, host and parameters of each.
    resources: Vec<(String, String, Texts)>,
    pub(super) spans: Vec<KeptSpan>,
    pub(super) skipped: Vec<String>,
}

fn text(id: Id<'_>) -> String {
    match id {
        Id::Number(number) => format!("{number:x}"),
        Id::Text(text) => text.to_owned(),
    }
}

fn pairs<'a>(of: impl Iterator<Item = (&'a str, &'a str)>) -> Texts {
    of.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

impl Receiver for Kept {
    fn resource(&mut self, resource: &Resource<'_>) -> ResourceId {
        let parameters = pairs(resource.parameters.iter().map(|(name, value)| (*name, &**value)));
        self.resources.push((resource.node.to_owned(), resource.host.to_owned(), parameters));
        self.resources.len() as ResourceId - 1
    }

    fn span(&mut self, span: &Span<'_>) -> Result<(), Error> {
        let (node, host, shared) = self.resources[span.resource as usize].clone();
        let own = pairs(span.parameters.iter().map(|(name, value)| (*name, &**value)));
        self.spans.push(KeptSpan {
            trace: text(span.trace),
            id: text(span.id),
            parent: span.parent.map(text),
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

    fn skip(&mut self, _: &'static str, skip: impl FnOnce() -> Skip) {
        self.skipped.push(skip().to_string());
    }

    fn damage(&mut self, _: &'static str, skip: impl FnOnce() -> Skip) {
        self.skipped.push(skip().to_string());
    }
}

/// Has `read` read a text of file `x`.
pub(super) fn kept(
    text: &str,
    read: impl FnOnce(Text<'_>, &Path, &mut Kept) -> Result<(), Error>,
) -> Kept {
    let mut kept = Kept::default();
    read(Text { at: At::Line(1), bytes: text.as_bytes() }, Path::new("x"), &mut kept).unwrap();
    kept
}

/// Trees of spans: each span has a parent among those before it in its trace, or none. Times are
/// whole microseconds, ids are numbers.
pub(super) fn trees() -> impl Strategy<Value = Vec<KeptSpan>> {
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
        let mut spans: Vec<KeptSpan> = Vec::new();
        for (place, (random, trace, kind, operation, node, times, failed, tags)) in
            all.into_iter().enumerate()
        {
            let trace = format!("{:x}", (trace + 1) << 80);
            let parents: Vec<_> = spans.iter().filter(|other| other.trace == trace).collect();
            let parent = parents.get(random as usize % (parents.len() + 1));
            spans.push(KeptSpan {
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
