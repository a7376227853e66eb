//! The receivers of requests that write a file, as JSON or protobuf.

use std::io::Write;

use prost::Message;

use super::messages::ExportTraceServiceRequest;
use crate::error::Error;

/// A receiver of requests.
pub(super) trait RequestSink {
    /// Writes or sends a request.
    ///
    /// # Errors
    /// When the request cannot be written or sent.
    fn take_request(&mut self, request: &ExportTraceServiceRequest) -> Result<(), Error>;

    /// Flushes buffered output.
    ///
    /// # Errors
    /// As for [`RequestSink::take_request`].
    fn finish(&mut self) -> Result<(), Error>;
}

/// A file with requests as JSON, one per line, as OpenTelemetry's file exporter writes it.
#[derive(Debug)]
pub(super) struct JsonLines<W>(pub(super) W);

impl<W: Write> RequestSink for JsonLines<W> {
    fn take_request(&mut self, request: &ExportTraceServiceRequest) -> Result<(), Error> {
        serde_json::to_writer(&mut self.0, request).map_err(std::io::Error::from)?;
        Ok(self.0.write_all(b"\n")?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.0.flush()?)
    }
}

/// A file with requests as protobuf, concatenated. Together they are one `TracesData`.
#[derive(Debug)]
pub(super) struct ProtobufFile<W>(pub(super) W);

impl<W: Write> RequestSink for ProtobufFile<W> {
    fn take_request(&mut self, request: &ExportTraceServiceRequest) -> Result<(), Error> {
        Ok(self.0.write_all(&request.encode_to_vec())?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.0.flush()?)
    }
}
