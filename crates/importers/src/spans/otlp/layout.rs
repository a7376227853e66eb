//! Layout of an OTLP file, determined by its beginning.

use super::wire::{WireField, WireFields, take_varint};
use crate::spans::json::is_json;

/// Layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtlpLayout {
    /// JSON, in lines or not.
    Json,
    /// Protobuf: one message, or several in sequence, which is the same as one.
    Message,
    /// Messages, each preceded by its length in four bytes, big-endian, as written by the
    /// collector's file exporter. A message may be compressed, in which case it may be JSON.
    Framed,
    /// Messages, each preceded by its length in protobuf's variable-length encoding, as written by
    /// protobuf's libraries.
    Delimited,
}

/// First bytes of a message that is compressed by zstd.
pub(super) const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

impl OtlpLayout {
    /// Layout of a file that begins with `head`; `None` if it is not an OTLP file.
    pub(super) fn from_head(head: &[u8]) -> Option<OtlpLayout> {
        if head.is_empty() || is_json(head) {
            return Some(OtlpLayout::Json);
        }
        if is_request(head) {
            return Some(OtlpLayout::Message);
        }
        let mut rest = head;
        let length = take_varint(&mut rest).unwrap_or(0);
        if is_request(rest.get(..length as usize).unwrap_or(rest)) {
            return Some(OtlpLayout::Delimited);
        }
        // The first byte of a length is 0 up to 16 MiB, and no message begins with a 0.
        if let Some((length, rest)) = head.split_first_chunk::<4>()
            && (u32::from_be_bytes(*length) == 0 || is_framed(rest))
        {
            return Some(OtlpLayout::Framed);
        }
        // JSON with a damaged first line.
        let has_objects = memchr::memmem::find(head, b"\n{\"").is_some();
        has_objects.then_some(OtlpLayout::Json)
    }
}

/// Whether a message of the file exporter begins here.
fn is_framed(message: &[u8]) -> bool {
    message.starts_with(ZSTD) || is_json(message) || is_request(message)
}

/// Whether a request begins here: its first field is a `ResourceSpans`, and the first field of that
/// is valid.
fn is_request(message: &[u8]) -> bool {
    let Some(Ok((1, WireField::Bytes(part) | WireField::CutOff(part)))) =
        WireFields::new(message).next()
    else {
        return false;
    };
    match WireFields::new(part).next() {
        None => message.starts_with(&[0x0a, 0]),
        Some(Ok((1 | 2 | 3 | 1000, WireField::Bytes(_) | WireField::CutOff(_)))) => true,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of `length` bytes or some more.
    fn request(length: usize) -> Vec<u8> {
        let wrapped = |number: u8, bytes: &[u8]| {
            let mut message = vec![number << 3 | 2];
            let mut length = bytes.len();
            while length > 0x7f {
                message.push(0x80 | (length & 0x7f) as u8);
                length >>= 7;
            }
            message.push(length as u8);
            message.extend_from_slice(bytes);
            message
        };
        wrapped(1, &wrapped(1, &wrapped(1, &vec![b'x'; length])))
    }

    #[test]
    fn each_layout_is_recognised_with_any_first_length() {
        for length in 0..70_000 {
            if length > 700 && length % 97 > 0 {
                continue;
            }
            let message = request(length);
            assert_eq!(OtlpLayout::from_head(&message), Some(OtlpLayout::Message), "{length}");
            let framed = [&(message.len() as u32).to_be_bytes(), &message[..]].concat();
            assert_eq!(OtlpLayout::from_head(&framed), Some(OtlpLayout::Framed), "{length}");
            let mut delimited = Vec::new();
            prost::encoding::encode_varint(message.len() as u64, &mut delimited);
            delimited.extend_from_slice(&message);
            assert_eq!(OtlpLayout::from_head(&delimited), Some(OtlpLayout::Delimited), "{length}");
        }
    }

    #[test]
    fn json_and_other_files() {
        let json = b"{\"resourceSpans\": []}";
        assert_eq!(OtlpLayout::from_head(json), Some(OtlpLayout::Json));
        assert_eq!(OtlpLayout::from_head(b""), Some(OtlpLayout::Json));
        assert_eq!(
            OtlpLayout::from_head(b"esourceSpans\": []}\n{\"resourceSpans\": []}"),
            Some(OtlpLayout::Json)
        );
        let framed = |message: &[u8]| [&(message.len() as u32).to_be_bytes(), message].concat();
        assert_eq!(OtlpLayout::from_head(&framed(json)), Some(OtlpLayout::Framed));
        let compressed = zstd::encode_all(&json[..], 0).unwrap();
        assert_eq!(OtlpLayout::from_head(&framed(&compressed)), Some(OtlpLayout::Framed));
        for other in [&b"trace,span\n1,2\n"[..], b"<xml>", &[0xff; 40], b"\x7fELF\x02\x01\x01"] {
            assert_eq!(OtlpLayout::from_head(other), None);
        }
    }
}
