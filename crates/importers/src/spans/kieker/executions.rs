//! Records of whole executions, with the order of their fields in all versions.

use std::borrow::Cow;

use request_flow::spans::{Span, SpanKind, SpanResource, TracingId};

use super::super::receiver::SpanReceiver;
use super::super::unused_record::UnusedRecord;
use super::fields::KiekerFields;
use super::signature::class_of;
use crate::tabular::WrongValue;

/// Number of fields of a record since 2011.
const FIELD_COUNT: usize = 8;

/// Emits the execution of a record to `spans`. `unit_ns` is the unit of the record's times, and
/// `own_trace` is the trace of the execution if the record names none.
pub(super) fn emit_execution(
    fields: &KiekerFields<'_>,
    unit_ns: i64,
    own_trace: impl FnOnce() -> String,
    spans: &mut impl SpanReceiver,
) -> Result<(), UnusedRecord> {
    // Records until 2010 begin with the experiment.
    let is_old = fields.len() > FIELD_COUNT && fields.number(0).is_ok();
    let (experiment, fields) =
        if is_old { (fields.text_if_any(0), fields.fields_from(1)) } else { ("", fields.clone()) };
    let [signature, session] = [fields.text(0)?, fields.text_if_any(1)];
    let [trace, order, depth] = [fields.number(2)?, fields.number(6)?, fields.number(7)?];
    let [begin, end] = [fields.time(3, unit_ns)?, fields.time(4, unit_ns)?];
    if signature.is_empty() {
        let why = "field 1: the signature is missing".to_owned();
        return Err(WrongValue { cause: "operation without a name", why }.into());
    }
    let trace = if trace == -1 { own_trace() } else { trace.to_string() };
    let resource = SpanResource {
        node: class_of(signature),
        host: fields.text_if_any(5),
        parameters: Vec::new(),
    };
    let resource = spans.resource_id(&resource);
    let extra = [("experiment", experiment), ("session", session)];
    let parameters: Vec<(&str, Cow<'_, str>)> = extra
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name, Cow::Borrowed(value)))
        .collect();
    spans.add_span(&Span {
        depth: u32::try_from(depth).ok(),
        order: Some(order).filter(|order| *order >= 0),
        kind: SpanKind::Internal,
        begin: Some(begin),
        end: Some(end),
        parameters: &parameters,
        ..Span::new(
            TracingId::Text(&trace),
            TracingId::Number(u128::from(order as u64)),
            resource,
            signature,
        )
    })?;
    Ok(())
}
