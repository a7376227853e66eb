//! `import otlp`: spans as OpenTelemetry's collector writes them with its file exporter, and as
//! others write the same messages: JSON in lines or in one document, and protobuf.
//!
//! [`layout`] tells how a file is laid out. [`json`] and [`frames`] with [`protobuf`] read it into
//! what [`span`] has of a span.

mod any_value;
mod frames;
mod ids;
mod json;
mod layout;
mod protobuf;
mod span;
mod wire;

use std::io::Read;
use std::path::Path;

use registry::About;

use super::driver::SpanImporter;
use super::format::Format;
use super::fuzz::run;
use super::head::Head;
use super::reading::{Piece, Reading};
use super::receiver::Receiver;
use super::texts::{self, Text};
use crate::error::Error;
use crate::flags::NAME;
use crate::kind::Kind;
use crate::reading::Input;
use crate::summary::At;
use crate::tuning::{MAX_TEXT_BYTES, MAX_UNPACKED_MESSAGE_BYTES, MAX_UNPACKED_TIMES};
use frames::Frames;
use layout::{Layout, ZSTD};
use span::Reader;

/// The entry in the registry.
pub(crate) static OTLP: Kind = Kind {
    about: About {
        name: "otlp",
        summary: "Spans of OpenTelemetry: OTLP as JSON or protobuf",
        details: "\
What the collector's file exporter writes: a request a line, or protobuf with the length of each \
message before it. One JSON document and bare protobuf are read, too; plain or compressed (gzip, \
zstd, xz). Spans become requests and their steps; client and server spans of one call are the two \
ends of a message, by which the hosts' clocks are compared.",
        notes: "\
Have the collector write its spans so:
  exporters:
    file:
      path: spans.jsonl",
        examples: &[
            "sockcap import otlp spans.jsonl && sockcap report",
            "sockcap import otlp --name monday spans-*.jsonl.gz",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME],
    make: |given| Box::new(SpanImporter { name: given.get(&NAME), format: Otlp }),
    fuzz: |bytes| run(&Otlp, bytes),
    #[cfg(test)]
    samples: samples::samples,
};

/// The format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Otlp;

impl Format for Otlp {
    const NONE: &str = "it has no spans below 'resourceSpans'";

    fn read(&self, input: Input<'_>, reading: &mut Reading<'_, '_>) -> Result<(), Error> {
        let (head, input) = Head::of(input);
        let file = input.file.clone();
        let of_json = |text: Text<'_>, piece: &mut Piece<'_, '_>| json::read(text, &file, piece);
        match Layout::of(&head.bytes) {
            None => {
                let why = "it is neither JSON nor protobuf of OTLP";
                Err(Error::malformed(&file, At::File, why))
            }
            Some(Layout::Json) => super::json::each(input, json::KEYS, reading, of_json),
            Some(layout) => {
                let frames = |bytes| Frames::new(bytes, layout);
                texts::each(input, frames, reading, |text, piece| match layout {
                    Layout::Message => protobuf::resource_spans(text, &file, piece),
                    _ => message(text, &file, piece),
                })
            }
        }
    }
}

/// Reads a message out of a frame, which may be compressed, and may be JSON.
fn message(text: Text<'_>, file: &Path, receiver: &mut impl Receiver) -> Result<(), Error> {
    if !text.bytes.starts_with(ZSTD) {
        return plain_message(text, file, receiver);
    }
    let mut whole = Vec::new();
    let most = text.bytes.len().saturating_mul(MAX_UNPACKED_TIMES as usize);
    let most = most.clamp(MAX_UNPACKED_MESSAGE_BYTES, MAX_TEXT_BYTES);
    let read = zstd::stream::read::Decoder::with_buffer(text.bytes)
        .and_then(|decoder| decoder.take(most as u64 + 1).read_to_end(&mut whole));
    let damage = match read {
        Ok(_) if whole.len() > most => Some("it is longer than a message can be".to_owned()),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = damage {
        let why = format!("a compressed message is damaged: {why}");
        Reader { receiver, file, at: text.at }.damage(text.at, why);
    }
    plain_message(Text { bytes: &whole, ..text }, file, receiver)
}

fn plain_message(text: Text<'_>, file: &Path, receiver: &mut impl Receiver) -> Result<(), Error> {
    if super::json::is_json(text.bytes) {
        return json::read(text, file, receiver);
    }
    protobuf::request(text, file, receiver)
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests;
