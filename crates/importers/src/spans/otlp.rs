//! `import otlp`: spans as written by the file exporter of OpenTelemetry's collector, and by others
//! in the same messages: JSON in lines or in one document, and protobuf.
//!
//! [`layout`] determines the layout of a file. [`json`] and [`frames`] with [`protobuf`] parse it
//! into the fields in `span`.

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

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};

use super::driver::SpanImporter;
use super::format::SpanFormat;
use super::fuzz::fuzz_format;
use super::head::FileHead;
use super::receiver::SpanReceiver;
use super::span_import::{SpanBatch, SpanImport};
use super::texts::{self, FileText};
use crate::error::Error;
use crate::flags::NameFlag;
use crate::import_input::ImportInput;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::FilePosition;
use crate::tuning::{MAX_TEXT_BYTES, MAX_UNPACKED_MESSAGE_BYTES, MAX_UNPACKED_TIMES};
use frames::OtlpFrames;
use layout::{OtlpLayout, ZSTD};
use span::OtlpSpanReader;

/// Registry entry.
pub(crate) static OTLP: ImporterSpec = Spec {
    about: EntryHelp {
        name: "otlp",
        summary: "Spans of OpenTelemetry: OTLP as JSON or protobuf",
        details: "\
The output of the collector's file exporter: one request per line, or protobuf with each message \
preceded by its length. One JSON document and bare protobuf are read, too; plain or compressed \
(gzip, zstd, xz). Spans become requests and their steps; client and server spans of one call are \
the two ends of a message, by which the hosts' clocks are compared.",
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
    flags: NameFlag::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let NameFlag { name } = NameFlag::from_arg_matches(given)?;
            Ok(Box::new(SpanImporter { name, format: OtlpFormat }))
        },
        fuzz: |bytes| fuzz_format(&OtlpFormat, bytes),
        #[cfg(test)]
        samples: samples::samples,
    },
};

/// The format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtlpFormat;

impl SpanFormat for OtlpFormat {
    const NONE: &str = "it has no spans below 'resourceSpans'";

    fn read_file(
        &self,
        input: ImportInput<'_>,
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error> {
        let (head, input) = FileHead::read_head(input);
        let file = input.file.clone();
        let of_json =
            |text: FileText<'_>, batch: &mut SpanBatch<'_, '_>| json::read_json(text, &file, batch);
        match OtlpLayout::from_head(&head.bytes) {
            None => {
                let why = "it is neither JSON nor protobuf of OTLP";
                Err(Error::malformed_at(&file, FilePosition::File, why))
            }
            Some(OtlpLayout::Json) => {
                super::json::for_each_value(input, json::KEYS, reading, of_json)
            }
            Some(layout) => {
                let frames = |bytes| OtlpFrames::new(bytes, layout);
                texts::for_each_text(input, frames, reading, |text, batch| match layout {
                    OtlpLayout::Message => protobuf::read_resource_spans(text, &file, batch),
                    _ => read_message(text, &file, batch),
                })
            }
        }
    }
}

/// Reads a message from a frame, which may be compressed, and may be JSON.
fn read_message(
    text: FileText<'_>,
    file: &Path,
    receiver: &mut impl SpanReceiver,
) -> Result<(), Error> {
    if !text.bytes.starts_with(ZSTD) {
        return read_plain_message(text, file, receiver);
    }
    let mut whole = Vec::new();
    let max_bytes = text.bytes.len().saturating_mul(MAX_UNPACKED_TIMES as usize);
    let max_bytes = max_bytes.clamp(MAX_UNPACKED_MESSAGE_BYTES, MAX_TEXT_BYTES);
    let read = zstd::stream::read::Decoder::with_buffer(text.bytes)
        .and_then(|decoder| decoder.take(max_bytes as u64 + 1).read_to_end(&mut whole));
    let damage = match read {
        Ok(_) if whole.len() > max_bytes => Some("it is longer than a message can be".to_owned()),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = damage {
        let why = format!("a compressed message is damaged: {why}");
        OtlpSpanReader { receiver, file, at: text.at }.count_damage(text.at, why);
    }
    read_plain_message(FileText { bytes: &whole, ..text }, file, receiver)
}

fn read_plain_message(
    text: FileText<'_>,
    file: &Path,
    receiver: &mut impl SpanReceiver,
) -> Result<(), Error> {
    if super::json::is_json(text.bytes) {
        return json::read_json(text, file, receiver);
    }
    protobuf::read_request(text, file, receiver)
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests;
