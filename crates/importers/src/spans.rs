//! Importers of spans: the output of tracers. All files of one command become one import of
//! requests, `DIR/spans/imports/NAME/` with `requests.parquet`, `steps.parquet` and `clocks.json`.
//!
//! ```text
//!  driver                 a format, on all processors          request-flow
//!  opens each file  -->   reads it into spans          -->     joins spans into requests
//! ```
//!
//! [`driver`] is the importer that all kinds share, and [`format`](mod@format) the part that is
//! specific to each kind. [`span_import`] is a format's interface for reading, and [`tally`] counts
//! the results. [`texts`] are parts of a file that are read in parallel, on all processors; `lines`
//! splits a file into them, and [`json`] the elements of documents. [`objects`] finds the intact
//! parts of damaged JSON.

mod attributes;
#[cfg(test)]
mod collected;
mod driver;
mod format;
mod fuzz;
mod head;
mod ids;
mod jaeger;
mod json;
mod kieker;
mod lines;
mod objects;
#[cfg(test)]
mod order_tests;
mod otlp;
mod receiver;
mod resources;
#[cfg(test)]
mod round_trip;
mod scalars;
mod span_import;
mod table;
mod tally;
mod texts;
mod unused_record;
mod zipkin;

pub(crate) use jaeger::JAEGER;
pub(crate) use kieker::KIEKER;
pub(crate) use otlp::OTLP;
pub(crate) use table::SPANS;
pub(crate) use zipkin::ZIPKIN;
