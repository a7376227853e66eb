//! Recovery: where a damaged text can be read again. An object is recognised as a span or a request
//! by its first member.

use crate::spans::json::JsonScan;

/// Object that begins at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoveredObject {
    /// A request, or a `ResourceSpans`.
    Request,
    /// The object is a span.
    Span,
}

/// Finds the next span or request in `text` that begins after its first byte and not before the
/// offset `passed`; returns its offset and its kind.
pub(super) fn next_object(text: &str, passed: usize) -> Option<(usize, RecoveredObject)> {
    let passed = passed.max(1);
    let rest = text.as_bytes().get(passed..)?;
    memchr::memchr_iter(b'{', rest)
        .find_map(|place| Some((passed + place, object_of_members(rest.get(place + 1..)?)?)))
}

/// Kind of the object with these members.
fn object_of_members(members: &[u8]) -> Option<RecoveredObject> {
    let key = members.trim_ascii_start().strip_prefix(b"\"")?;
    let key = key.get(..memchr::memchr(b'"', key)?)?;
    match key {
        b"resource" | b"resourceSpans" | b"resource_spans" | b"batches" => {
            Some(RecoveredObject::Request)
        }
        b"traceId" | b"trace_id" | b"spanId" | b"span_id" => Some(RecoveredObject::Span),
        _ => None,
    }
}

/// Length of the object that begins here.
pub(super) fn object_length(text: &str) -> usize {
    JsonScan::default().find_end(text.as_bytes()).unwrap_or(text.len())
}

/// Offset of an error in `text`: not after the wrong byte.
pub(super) fn error_offset(text: &str, error: &serde_json::Error) -> usize {
    let mut begin = 0;
    for _ in 1..error.line() {
        let rest = text.as_bytes().get(begin..).unwrap_or_default();
        begin += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }
    (begin + error.column().saturating_sub(1)).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_recognised_by_their_first_member() {
        let text = r#"x {"key": {}} , { "traceId": "{", {"resource": 1"#;
        assert_eq!(next_object(text, 0), Some((16, RecoveredObject::Span)));
        assert_eq!(next_object(text, 17), Some((34, RecoveredObject::Request)));
        assert_eq!(next_object(text, 35), None);
        assert_eq!(next_object("{\"spanId\"", 0), None);
        assert_eq!(object_length(r#"{"a": "}"}, {}"#), 10);
    }

    #[test]
    fn an_error_is_where_the_wrong_byte_is() {
        let text = "{\n \"a\": 1,\n x";
        let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
        assert_eq!(&text[error_offset(text, &error)..], "x");
    }
}
