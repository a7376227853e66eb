//! Trace contexts that requests carry: W3C `traceparent`, and Zipkin's b3 in one or several
//! headers.

/// Tracer span that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace; never 0.
    pub trace_id: u128,
    /// Id of the span that made the request; never 0.
    pub parent_id: u64,
    /// Whether the tracer records the trace. False if the header leaves that to the server.
    pub sampled: bool,
}

/// Headers of trace contexts, collected one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct TraceHeaders {
    traceparent: Option<TraceContext>,
    b3: Option<TraceContext>,
    trace_id: Option<u128>,
    span_id: Option<u64>,
    sampled: bool,
}

impl TraceHeaders {
    /// Takes a header; headers without a trace context are ignored.
    pub(crate) fn take_header(&mut self, name: &[u8], value: &[u8]) {
        let value = value.trim_ascii();
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if is("traceparent") {
            self.traceparent = parse_traceparent(value);
        } else if is("b3") {
            self.b3 = parse_b3(value);
        } else if is("x-b3-traceid") {
            self.trace_id = parse_trace_id(value);
        } else if is("x-b3-spanid") {
            self.span_id = parse_hex(value, 16).map(|id| id as u64);
        } else if is("x-b3-sampled") || is("x-b3-flags") {
            self.sampled |= value == b"1" || value == b"true";
        }
    }

    /// Returns the context from the header with the most information.
    pub(crate) fn find_context(&self) -> Option<TraceContext> {
        let several = || valid_context(self.trace_id?, self.span_id?, self.sampled);
        self.traceparent.or(self.b3).or_else(several)
    }
}

/// Parses `00-TRACE-PARENT-FLAGS` (W3C Trace Context, 3.2). A later version may have more fields
/// after the flags.
fn parse_traceparent(value: &[u8]) -> Option<TraceContext> {
    let mut parts = value.split(|byte| *byte == b'-');
    let mut part = |length| parse_hex_lower(parts.next()?, length);
    let (version, trace, parent, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
    if version == 0xff || version == 0 && parts.next().is_some() {
        return None;
    }
    valid_context(trace, parent as u64, flags & 1 == 1)
}

/// Parses `TRACE-SPAN-SAMPLED-PARENT`; the last two are optional. `0` alone only means that nothing
/// is recorded.
fn parse_b3(value: &[u8]) -> Option<TraceContext> {
    let mut parts = value.split(|byte| *byte == b'-');
    let trace = parse_trace_id(parts.next()?)?;
    let span = parse_hex(parts.next()?, 16)? as u64;
    let sampled = matches!(parts.next(), Some(b"1" | b"d" | b"true"));
    valid_context(trace, span, sampled)
}

fn valid_context(trace_id: u128, parent_id: u64, sampled: bool) -> Option<TraceContext> {
    let valid = trace_id != 0 && parent_id != 0;
    valid.then_some(TraceContext { trace_id, parent_id, sampled })
}

fn parse_trace_id(value: &[u8]) -> Option<u128> {
    parse_hex(value, 32).or_else(|| parse_hex(value, 16))
}

fn parse_hex_lower(value: &[u8], length: usize) -> Option<u128> {
    let lower = value.iter().all(|byte| !byte.is_ascii_uppercase());
    if lower { parse_hex(value, length) } else { None }
}

/// Parses exactly `length` hexadecimal digits, at most 32.
fn parse_hex(value: &[u8], length: usize) -> Option<u128> {
    if value.len() != length || length > 32 {
        return None;
    }
    let digit = |byte: &u8| (*byte as char).to_digit(16).map(u128::from);
    value.iter().try_fold(0, |number, byte| Some(number << 4 | digit(byte)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context_of(headers: &[(&str, &str)]) -> Option<TraceContext> {
        let mut all = TraceHeaders::default();
        headers.iter().for_each(|(name, value)| all.take_header(name.as_bytes(), value.as_bytes()));
        all.find_context()
    }

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn expected_context(sampled: bool) -> Option<TraceContext> {
        Some(TraceContext {
            trace_id: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            parent_id: 0x00f0_67aa_0ba9_02b7,
            sampled,
        })
    }

    #[test]
    fn traceparent_of_the_recommendation() {
        let value = |flags: &str| format!("00-{TRACE}-{SPAN}-{flags}");
        assert_eq!(context_of(&[("Traceparent", &value("01"))]), expected_context(true));
        assert_eq!(context_of(&[("traceparent", &value("00"))]), expected_context(false));
        assert_eq!(context_of(&[("traceparent", &value("01-more"))]), None);
        let later = value("01-more").replacen("00", "cc", 1);
        assert_eq!(context_of(&[("traceparent", &later)]), expected_context(true));
        let invalid = value("01").replacen("00", "ff", 1);
        assert_eq!(context_of(&[("traceparent", &invalid)]), None);
        assert_eq!(context_of(&[("traceparent", &value("01").to_uppercase())]), None);
        let zero = format!("00-{}-{SPAN}-01", "0".repeat(32));
        assert_eq!(context_of(&[("traceparent", &zero)]), None);
    }

    #[test]
    fn b3_in_one_header_and_in_several() {
        assert_eq!(
            context_of(&[("b3", &format!("{TRACE}-{SPAN}-1-{SPAN}"))]),
            expected_context(true)
        );
        assert_eq!(context_of(&[("b3", &format!("{TRACE}-{SPAN}"))]), expected_context(false));
        assert_eq!(context_of(&[("b3", "0")]), None);
        let several = [("X-B3-TraceId", TRACE), ("X-B3-SpanId", SPAN), ("X-B3-Sampled", "1")];
        assert_eq!(context_of(&several), expected_context(true));
        assert_eq!(context_of(&several[..1]), None);
        let short = context_of(&[("x-b3-traceid", SPAN), ("x-b3-spanid", SPAN)]).unwrap();
        assert_eq!(short.trace_id, u128::from(short.parent_id));
    }

    #[test]
    fn traceparent_comes_before_b3() {
        let b3 = format!("{SPAN}-{SPAN}-1");
        let parent = format!("00-{TRACE}-{SPAN}-00");
        assert_eq!(context_of(&[("b3", &b3), ("traceparent", &parent)]), expected_context(false));
    }
}
