//! Frames: the messages of a protobuf file as texts, in sequence while the file is read.

use std::io::{self, BufRead, BufReader, Read};

use super::layout::OtlpLayout;
use crate::spans::texts::{TextBatch, TextSource};
use crate::summary::FilePosition;
use crate::tuning::{MAX_EMPTY_MESSAGES, MAX_TEXT_BYTES, READ_BUFFER_BYTES};

/// Messages of a file: for a single message its `ResourceSpans`, otherwise whole requests.
#[derive(Debug)]
pub(super) struct OtlpFrames<R> {
    bytes: BufReader<R>,
    layout: OtlpLayout,
    /// Number of bytes that were read.
    offset: u64,
    max_message_bytes: u64,
    /// Number of consecutive empty messages.
    empty: u32,
    ended: bool,
    /// Read error that is not reported yet.
    error: Option<io::Error>,
}

/// Header before a message.
enum FrameHead {
    /// A message of that many bytes follows.
    Message(u64),
    /// Another field of that many bytes follows.
    Other(u64),
    /// The file ends.
    End,
    /// The file ends within the header, or the header is invalid.
    Damaged,
}

impl<R: Read + Send> OtlpFrames<R> {
    /// The messages of `bytes`.
    pub(super) fn new(bytes: R, layout: OtlpLayout) -> OtlpFrames<R> {
        OtlpFrames {
            bytes: BufReader::with_capacity(READ_BUFFER_BYTES, bytes),
            layout,
            offset: 0,
            max_message_bytes: MAX_TEXT_BYTES as u64,
            empty: 0,
            ended: false,
            error: None,
        }
    }

    /// The next byte; `None` at the end.
    fn read_byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.bytes.fill_buf()?.first().copied();
        if byte.is_some() {
            self.bytes.consume(1);
            self.offset += 1;
        }
        Ok(byte)
    }

    /// Reads the variable-length number that begins with `first`.
    fn read_varint(&mut self, first: Option<u8>) -> io::Result<Option<u64>> {
        let (mut bytes, mut next) = (Vec::new(), first);
        while let Some(byte) = next {
            bytes.push(byte);
            if byte & 0x80 == 0 || bytes.len() > 10 {
                return Ok(super::wire::take_varint(&mut bytes.as_slice()));
            }
            next = self.read_byte()?;
        }
        Ok(None)
    }

    /// Reads the header of the next message.
    fn read_head(&mut self) -> io::Result<FrameHead> {
        let Some(first) = self.read_byte()? else { return Ok(FrameHead::End) };
        let length = match self.layout {
            OtlpLayout::Framed => {
                let mut length = u64::from(first);
                for _ in 1..4 {
                    let Some(byte) = self.read_byte()? else { return Ok(FrameHead::Damaged) };
                    length = length << 8 | u64::from(byte);
                }
                Some(length)
            }
            OtlpLayout::Delimited => self.read_varint(Some(first))?,
            OtlpLayout::Json | OtlpLayout::Message => {
                let Some(key) = self.read_varint(Some(first))? else {
                    return Ok(FrameHead::Damaged);
                };
                return self.read_field(key);
            }
        };
        Ok(length.map_or(FrameHead::Damaged, FrameHead::Message))
    }

    /// Reads the header of a field of the single message, after its key.
    fn read_field(&mut self, key: u64) -> io::Result<FrameHead> {
        let length = match key & 7 {
            0 => {
                let first = self.read_byte()?;
                self.read_varint(first)?.map(|_| 0)
            }
            1 => Some(8),
            2 => {
                let first = self.read_byte()?;
                self.read_varint(first)?
            }
            5 => Some(4),
            _ => None,
        };
        Ok(match length.filter(|_| key >> 3 > 0) {
            None => FrameHead::Damaged,
            Some(length) if key == 1 << 3 | 2 => FrameHead::Message(length),
            Some(length) => FrameHead::Other(length),
        })
    }

    /// Advances by one message, and adds the result to `texts`.
    fn read_message(&mut self, texts: &mut TextBatch) -> io::Result<()> {
        let at = self.at();
        match self.read_head()? {
            FrameHead::End => self.ended = true,
            FrameHead::Damaged => {
                self.ended = true;
                texts.add_fault(at, "the rest is not protobuf; was the file cut off?");
            }
            FrameHead::Message(0) => {
                // An empty message; no writer produces many of these.
                self.empty += 1;
                if self.empty > MAX_EMPTY_MESSAGES {
                    self.ended = true;
                    texts.add_fault(at, "the rest consists of empty messages");
                }
            }
            FrameHead::Message(length) if length <= self.max_message_bytes => {
                self.empty = 0;
                let OtlpFrames { bytes, offset, .. } = self;
                let read =
                    texts.append_text(at, |into| bytes.take(length).read_to_end(into))? as u64;
                *offset += read;
                if read < length {
                    // The message may end between two of its fields, where a parser would notice
                    // nothing.
                    texts.add_fault(at, "the file ends before this message does");
                }
            }
            FrameHead::Message(length) => {
                texts.add_fault(at, "the message is longer than one can be");
                self.skip_bytes(length)?;
            }
            FrameHead::Other(length) => self.skip_bytes(length)?,
        }
        Ok(())
    }

    fn skip_bytes(&mut self, length: u64) -> io::Result<()> {
        self.offset += io::copy(&mut self.bytes.by_ref().take(length), &mut io::sink())?;
        Ok(())
    }
}

impl<R: Read + Send> TextSource for OtlpFrames<R> {
    fn next(&mut self) -> io::Result<Option<TextBatch>> {
        let mut texts = TextBatch::default();
        while !self.ended && !texts.is_full() {
            if let Err(error) = self.read_message(&mut texts) {
                (self.ended, self.error) = (true, Some(error));
            }
        }
        if !texts.is_empty() {
            return Ok(Some(texts));
        }
        self.error.take().map_or(Ok(None), Err)
    }

    fn at(&self) -> FilePosition {
        FilePosition::Offset(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Part = (u64, Result<Vec<u8>, &'static str>);

    fn parts(mut frames: OtlpFrames<&[u8]>) -> Vec<Part> {
        let offset = |at| match at {
            FilePosition::Offset(offset) => offset,
            other => panic!("{other:?}"),
        };
        let mut all = Vec::new();
        while let Some(texts) = frames.next().unwrap() {
            all.extend(texts.iter().map(|text| match text {
                Ok(text) => (offset(text.at), Ok(text.bytes.to_vec())),
                Err((at, fault)) => (offset(at), Err(fault)),
            }));
        }
        all
    }

    fn written(layout: OtlpLayout, message: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        match layout {
            OtlpLayout::Framed => bytes.extend_from_slice(&(message.len() as u32).to_be_bytes()),
            OtlpLayout::Delimited => {
                prost::encoding::encode_varint(message.len() as u64, &mut bytes)
            }
            OtlpLayout::Json | OtlpLayout::Message => {
                bytes.push(0x0a);
                prost::encoding::encode_varint(message.len() as u64, &mut bytes);
            }
        }
        [&bytes, message].concat()
    }

    const LAYOUTS: [OtlpLayout; 3] =
        [OtlpLayout::Message, OtlpLayout::Framed, OtlpLayout::Delimited];

    #[test]
    fn other_fields_of_a_single_message_are_skipped() {
        let other =
            [&[0x10, 0xff, 0x01, 0x1a, 2, 7, 7, 0x21][..], &[0; 8], &[0x2d], &[0; 4]].concat();
        let message = written(OtlpLayout::Message, b"x");
        let bytes = [&message[..], &other, &message].concat();
        let second = (message.len() + other.len()) as u64;
        let expected = [(0, Ok(b"x".to_vec())), (second, Ok(b"x".to_vec()))];
        assert_eq!(parts(OtlpFrames::new(&bytes, OtlpLayout::Message)), expected);
    }

    #[test]
    fn damage_ends_a_file_and_an_overlong_message_does_not() {
        let fault = "the rest is not protobuf; was the file cut off?";
        assert_eq!(parts(OtlpFrames::new(&[0x0b, 1, 2], OtlpLayout::Message)), [(0, Err(fault))]);
        assert_eq!(parts(OtlpFrames::new(&[0, 0, 0], OtlpLayout::Framed)), [(0, Err(fault))]);
        assert_eq!(parts(OtlpFrames::new(&[0xff; 20], OtlpLayout::Delimited)), [(0, Err(fault))]);
        for layout in LAYOUTS {
            let (long, short) = (written(layout, &[b'l'; 500]), written(layout, b"short"));
            let bytes = [&short[..], &long, &short].concat();
            let frames =
                OtlpFrames { max_message_bytes: 400, ..OtlpFrames::new(&bytes[..], layout) };
            let read: Vec<bool> = parts(frames).iter().map(|(_, part)| part.is_ok()).collect();
            assert_eq!(read, [true, false, true], "{layout:?}");
        }
    }

    #[test]
    fn a_file_of_empty_messages_is_an_error() {
        for layout in LAYOUTS {
            let (empty, short) = (written(layout, b""), written(layout, b"short"));
            let some = [&empty[..], &short, &empty, &empty, &short].concat();
            let read = parts(OtlpFrames::new(&some[..], layout));
            assert_eq!(read.iter().filter(|(_, part)| part.is_ok()).count(), 2, "{layout:?}");
            let many = [empty.repeat(MAX_EMPTY_MESSAGES as usize + 1), short].concat();
            let read = parts(OtlpFrames::new(&many[..], layout));
            assert!(matches!(read[..], [(_, Err(fault))] if fault.contains("empty messages")));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn complete_messages_round_trip_even_from_a_truncated_file(
            messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..300), 0..6),
            cut in 0.0..1.0f64,
        ) {
            for layout in LAYOUTS {
                let (mut bytes, mut expected) = (Vec::new(), Vec::new());
                for message in &messages {
                    expected.push((bytes.len() as u64, Ok(message.clone())));
                    bytes.extend(written(layout, message));
                }
                prop_assert_eq!(&parts(OtlpFrames::new(&bytes[..], layout)), &expected);
                let left = (bytes.len() as f64 * cut) as usize;
                let read = parts(OtlpFrames::new(&bytes[..left], layout));
                let ends = expected.iter().skip(1).map(|(begin, _)| *begin).chain([bytes.len() as u64]);
                let whole = ends.filter(|end| *end <= left as u64).count().min(messages.len());
                prop_assert!(read.len() <= whole + 2);
                prop_assert_eq!(&read[..whole], &expected[..whole]);
            }
        }
    }
}
