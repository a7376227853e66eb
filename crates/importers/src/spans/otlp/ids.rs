//! Ids of traces and spans: hex, as in the specification, or base64, as in protobuf's own JSON and
//! in files of Grafana Tempo.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use request_flow::spans::TracingId;

/// Id of a trace or a span, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum OtlpId<'t> {
    /// No id, or one of zeros only, which means the same.
    #[default]
    None,
    /// Up to 16 bytes.
    Number(u128),
    /// Another text, which is kept unchanged.
    Text(Cow<'t, str>),
}

impl<'t> OtlpId<'t> {
    /// The id in the form of request flows.
    pub(super) fn get(&self) -> Option<TracingId<'_>> {
        match self {
            OtlpId::None => None,
            OtlpId::Number(number) => Some(TracingId::Number(*number)),
            OtlpId::Text(text) => Some(TracingId::Text(text)),
        }
    }

    /// Creates an id from bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> OtlpId<'t> {
        if bytes.len() > 16 {
            return OtlpId::Text(Cow::Owned(STANDARD_NO_PAD.encode(bytes)));
        }
        from_number(bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }

    /// Creates an id from text.
    pub(super) fn from_text(text: Cow<'t, str>) -> OtlpId<'t> {
        match parse_number(&text) {
            Some(number) => from_number(number),
            None => OtlpId::Text(text),
        }
    }
}

fn from_number<'t>(number: u128) -> OtlpId<'t> {
    if number == 0 { OtlpId::None } else { OtlpId::Number(number) }
}

/// Number that a text encodes.
fn parse_number(text: &str) -> Option<u128> {
    if text.is_empty() {
        return Some(0);
    }
    if text.len() <= 32
        && let Some(number) = parse_hexadecimal(text)
    {
        return Some(number);
    }
    // 8 or 16 bytes, so that no other text is mistaken for base64.
    let bare = text.trim_end_matches('=');
    let mut bytes = [0; 16];
    let length = match (bare.len(), text.len()) {
        (11, 11 | 12) => 8,
        (22, 22 | 24) => 16,
        _ => return None,
    };
    let decoded = [STANDARD_NO_PAD, URL_SAFE_NO_PAD]
        .iter()
        .find_map(|engine| engine.decode_slice(bare, &mut bytes).ok())?;
    let bytes = bytes.get(..length).filter(|_| decoded == length)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

/// Number with these digits, which fit. The library's function is slower, and there are three ids
/// in a span.
fn parse_hexadecimal(text: &str) -> Option<u128> {
    let mut halves = [0u64; 2];
    let (high, low) = text.as_bytes().split_at(text.len().saturating_sub(16));
    for (half, digits) in halves.iter_mut().zip([high, low]) {
        for digit in digits {
            *half = *half << 4 | u64::from(char::from(*digit).to_digit(16)?);
        }
    }
    let [high, low] = halves.map(u128::from);
    Some(high << 64 | low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> OtlpId<'_> {
        OtlpId::from_text(Cow::Borrowed(text))
    }

    #[test]
    fn other_ids_stay_text_and_zero_ids_are_none() {
        assert_eq!(id("00f067aa0ba902b7"), OtlpId::Number(0x00f0_67aa_0ba9_02b7));
        assert_eq!(id("APBnqgupArc="), OtlpId::Number(0x00f0_67aa_0ba9_02b7));
        assert_eq!(id("f067AA0ba902b7"), OtlpId::Number(0x00f0_67aa_0ba9_02b7));
        for text in ["", "0000000000000000", "AAAAAAAAAAA="] {
            assert_eq!(id(text), OtlpId::None, "{text}");
        }
        for text in ["request-1", "4bf92f3577b34da6a3ce929d0e0e4736ff", "APBnqgupArcx"] {
            assert_eq!(id(text), OtlpId::Text(text.into()));
        }
        assert_eq!(OtlpId::from_bytes(&[]), OtlpId::None);
        assert_eq!(OtlpId::from_bytes(&[0, 1, 2]), OtlpId::Number(0x102));
        assert!(matches!(OtlpId::from_bytes(&[1; 17]), OtlpId::Text(_)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn all_notations_of_an_id_are_equal(trace in 1u128.., span in 1u64..) {
            use base64::engine::general_purpose::{STANDARD, URL_SAFE};
            let (of_trace, of_span) = (trace.to_be_bytes(), span.to_be_bytes());
            for (bytes, number) in [(&of_trace[..], trace), (&of_span[..], span.into())] {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                prop_assert_eq!(id(&hex), OtlpId::Number(number));
                prop_assert_eq!(OtlpId::from_text(hex.to_uppercase().into()), OtlpId::Number(number));
                prop_assert_eq!(OtlpId::from_bytes(bytes), OtlpId::Number(number));
                for engine in [STANDARD, URL_SAFE, STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                    let text = engine.encode(bytes);
                    prop_assert_eq!(OtlpId::from_text(text.into()), OtlpId::Number(number));
                }
            }
        }
    }
}
