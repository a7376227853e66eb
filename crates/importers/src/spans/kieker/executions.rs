//! Records of whole executions, in the order of their fields of all versions.

use std::borrow::Cow;

use request_flow::spans::{Id, Resource, Span, SpanKind};

use super::super::receiver::Receiver;
use super::super::unused::Unused;
use super::fields::Fields;
use super::signature::class_of;
use crate::tabular::Wrong;

/// Number of fields of a record since 2011.
const FIELDS: usize = 8;

/// Gives the execution of a record to `spans`. `unit_ns` is the unit of its times, and `alone`
/// names its trace where it says that it is of none.
pub(super) fn give(
    fields: &Fields<'_>,
    unit_ns: i64,
    alone: impl FnOnce() -> String,
    spans: &mut impl Receiver,
) -> Result<(), Unused> {
    // Records until 2010 have the experiment in front.
    let is_old = fields.len() > FIELDS && fields.number(0).is_ok();
    let (experiment, fields) =
        if is_old { (fields.text_if_any(0), fields.from(1)) } else { ("", fields.clone()) };
    let [signature, session] = [fields.text(0)?, fields.text_if_any(1)];
    let [trace, order, depth] = [fields.number(2)?, fields.number(6)?, fields.number(7)?];
    let [begin, end] = [fields.time(3, unit_ns)?, fields.time(4, unit_ns)?];
    if signature.is_empty() {
        let why = "field 1: the signature is missing".to_owned();
        return Err(Wrong { cause: "operation without a name", why }.into());
    }
    let trace = if trace == -1 { alone() } else { trace.to_string() };
    let resource =
        Resource { node: class_of(signature), host: fields.text_if_any(5), parameters: Vec::new() };
    let resource = spans.resource(&resource);
    let beside = [("experiment", experiment), ("session", session)];
    let parameters: Vec<(&str, Cow<'_, str>)> = beside
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name, Cow::Borrowed(value)))
        .collect();
    spans.span(&Span {
        depth: u32::try_from(depth).ok(),
        order: Some(order).filter(|order| *order >= 0),
        kind: SpanKind::Internal,
        begin: Some(begin),
        end: Some(end),
        parameters: &parameters,
        ..Span::of(Id::Text(&trace), Id::Number(u128::from(order as u64)), resource, signature)
    })?;
    Ok(())
}
