//! Registry of importers. To add one: write its file with its [`ImporterSpec`] and its code, and
//! add its `mod` line and one line here. Subcommand, help, completions, manual page, configuration
//! keys and fuzzing follow.

use crate::importer_spec::ImporterSpec;
use crate::{events, pcap, spans, strace, tabular};

/// All importers, in the order of help.
pub static IMPORTERS: &[&ImporterSpec] = &[
    &tabular::MESSAGES,
    &tabular::CALLS,
    &tabular::PROJECT5,
    &strace::STRACE,
    &pcap::PCAP,
    &spans::OTLP,
    &spans::JAEGER,
    &spans::ZIPKIN,
    &spans::KIEKER,
    &spans::SPANS,
    &events::PERF,
    &events::CTF,
    &events::EVENTS,
];

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
