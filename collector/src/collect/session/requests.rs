//! Requests of an admitted host, one by one: each is checked, then executed and answered.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use socket_log::SocketLog;
use socket_log::layout::HEADER_BYTES;
use tracing::debug;

use super::end::SessionEnd;
use crate::clock;
use crate::collect::event::{CollectEvent, ReceivedBytes, RefusalCause, StoredFiles};
use crate::collect::hints;
use crate::collect::shared::SharedState;
use crate::collect::store::HostStore;
use crate::collect::violation::Violation;
use crate::identity::LogIdentity;
use crate::tuning::MAX_MISNAMED_REPORTED;
use crate::wire::{self, ASK_LIMIT, CollectorAnswer, EXTENT_LIMIT, FrameReader, ShipperRequest};
use socket_log::names::HOST_NAME_LENGTH;

/// Handler for the requests of an admitted connection.
pub(super) struct RequestHandler<'a> {
    pub(super) shared: &'a SharedState<'a>,
    host: &'a str,
    /// Boot id of the host's kernel.
    boot: [u8; 16],
    store: &'a mut HostStore,
    /// Buffer for one decompressed extent.
    extent: Vec<u8>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    /// Data received since the last reported flush.
    gained: ReceivedBytes,
    /// Number of bytes received on the connection up to the last reported flush.
    received: u64,
    /// Number of the last flush.
    flush: u64,
    /// Times in the last answer to [`ShipperRequest::Time`], until the host has sent the exchange.
    sent_times: Option<[i64; 2]>,
    /// Files that were already reported to name another host.
    misnamed: HashSet<LogIdentity>,
}

impl<'a> RequestHandler<'a> {
    pub(super) fn new(
        shared: &'a SharedState<'a>,
        host: &'a str,
        boot: [u8; 16],
        store: &'a mut HostStore,
    ) -> RequestHandler<'a> {
        RequestHandler {
            shared,
            host,
            boot,
            store,
            extent: Vec::new(),
            decompressor: None,
            gained: ReceivedBytes::default(),
            received: 0,
            flush: 0,
            sent_times: None,
            misnamed: HashSet::new(),
        }
    }

    /// Executes one request. `received` is the number of bytes of the connection so far.
    pub(super) fn handle_request(
        &mut self,
        request: ShipperRequest<'_>,
        rest: &[u8],
        received: u64,
    ) -> Result<Option<CollectorAnswer>, SessionEnd> {
        let violation =
            |error: Violation| SessionEnd::Refused(RefusalCause::Violation, error.to_string());
        let protocol = |why: &str| SessionEnd::Refused(RefusalCause::Protocol, why.to_owned());
        Ok(match request {
            ShipperRequest::Hello { .. } => return Err(protocol("it greeted twice")),
            ShipperRequest::File { name, identity } => {
                self.store.select_file(name, identity).map_err(violation)?;
                None
            }
            ShipperRequest::Ask { page, pages } => {
                if pages > ASK_LIMIT {
                    return Err(protocol("it asked for too many checksums in one request"));
                }
                let (length, sums) =
                    self.store.page_checksums(page, pages).map_err(violation)?.map_err(
                        |error| SessionEnd::Refused(RefusalCause::Internal, error.to_string()),
                    )?;
                Some(CollectorAnswer::Have { length, sums })
            }
            ShipperRequest::Extent { offset, length } => {
                if length as usize > EXTENT_LIMIT {
                    return Err(protocol("it sent an extent above the maximum length"));
                }
                let bytes = self.decompress_extent(rest, length as usize)?;
                self.store.write_extent(offset, &self.extent[..bytes]).map_err(violation)?;
                if offset == 0 {
                    self.check_header(bytes);
                }
                self.gained.stored += bytes as u64;
                None
            }
            ShipperRequest::Length { length } => {
                self.store.set_length(length).map_err(violation)?;
                None
            }
            ShipperRequest::Flush { number, left } => {
                if number != self.flush + 1 {
                    return Err(protocol("its flushes are not numbered consecutively"));
                }
                self.flush = number;
                Some(self.flush_store(number, left, received))
            }
            ShipperRequest::Time => {
                let (received, sent) = (clock::unix_nanoseconds(), clock::unix_nanoseconds());
                self.sent_times = Some([received, sent]);
                Some(CollectorAnswer::Time { received, sent })
            }
            ShipperRequest::Hint(exchange) => {
                // A host may claim anything about its own clock, and nothing about the collector's.
                if self.sent_times.take()
                    != Some([exchange.collector_received, exchange.collector_sent])
                {
                    let why = "it reported a time exchange that did not happen";
                    return Err(SessionEnd::Refused(RefusalCause::Violation, why.to_owned()));
                }
                let path = self.shared.data.clock_hints_path(self.host);
                // Losing a hint does no harm; a flush reports whatever is wrong with the disk.
                let _ = hints::append_hint(&path, self.boot, &exchange);
                self.shared.events.on_event(&CollectEvent::Hint { host: self.host, exchange });
                None
            }
            ShipperRequest::Bye => Some(CollectorAnswer::Bye),
        })
    }

    /// Reports a log that names another host. Later stages still treat it as a log of this host.
    fn check_header(&mut self, bytes: usize) {
        let page = self.extent.get(..bytes.min(HEADER_BYTES)).unwrap_or(&[]);
        let Some((identity, name)) = self.store.current_file() else { return };
        let Ok(log) = SocketLog::from_bytes(Path::new(name), page.to_vec()) else { return };
        let says = log.header().host.as_str();
        // The header has the name truncated to its length; in directory names a slash becomes '_'.
        let says = says.replace('/', "_");
        if says.is_empty()
            || self.host.starts_with(&says)
                && [self.host.len(), HOST_NAME_LENGTH].contains(&says.len())
        {
            return;
        }
        if self.misnamed.len() < MAX_MISNAMED_REPORTED && self.misnamed.insert(identity) {
            let says = says.escape_debug().to_string();
            debug!(host = self.host, name, says = says.as_str(), "a log names another host");
            self.shared.events.on_event(&CollectEvent::Misnamed {
                host: self.host,
                name,
                says: &says,
            });
        }
    }

    /// Decompresses an extent into its buffer; its length must be the announced one.
    fn decompress_extent(&mut self, compressed: &[u8], length: usize) -> Result<usize, SessionEnd> {
        let internal =
            |error: io::Error| SessionEnd::Refused(RefusalCause::Internal, error.to_string());
        if self.extent.len() < length {
            self.extent.resize(length, 0);
        }
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(internal)?),
        };
        match decompressor.decompress_to_buffer(compressed, &mut self.extent[..length]) {
            Ok(bytes) if bytes == length => Ok(bytes),
            _ => {
                let why = "it sent an extent that differs from its announcement";
                Err(SessionEnd::Refused(RefusalCause::Protocol, why.to_owned()))
            }
        }
    }

    /// Makes the received data durable and reports the result. Returns the answer to flush
    /// `number`; `left` is the number of bytes that the host has yet to send, and `received` the
    /// number of bytes of the connection so far.
    fn flush_store(&mut self, number: u64, left: u64, received: u64) -> CollectorAnswer {
        let result = self.store.flush();
        let gained =
            ReceivedBytes { wire: received - self.received, ..std::mem::take(&mut self.gained) };
        self.received = received;
        let has = StoredFiles { files: self.store.file_count(), bytes: self.store.used_bytes() };
        let host = self.host;
        match result {
            Ok(()) => {
                self.shared.events.on_event(&CollectEvent::Stored {
                    host,
                    gained,
                    has,
                    left: Some(left),
                });
                CollectorAnswer::Durable { number }
            }
            Err((shortage, error)) => {
                self.shared.events.on_event(&CollectEvent::NotStored { host, shortage, error });
                CollectorAnswer::NotStored { number, shortage }
            }
        }
    }
}

/// Answers the frames in `bytes` as if an admitted host had sent them, up to the first that is
/// refused.
pub(in crate::collect) fn answer_all(mut bytes: &[u8], shared: &SharedState<'_>, host: &str) {
    let Ok(mut store) = HostStore::open(shared.data.hosts_dir().join(host), shared.limits, None)
    else {
        return;
    };
    let mut handler = RequestHandler::new(shared, host, [0; 16], &mut store);
    let mut reader = FrameReader::default();
    while let Ok(frame) = reader.next_frame(&mut bytes) {
        let Ok((request, rest)) = wire::decode_request(frame) else { break };
        let Ok(answer) = handler.handle_request(request, rest, 0) else { break };
        // Every answer fits into a frame.
        debug_assert!(answer.is_none_or(|answer| wire::encode_frame(&answer).is_ok()));
    }
    let _ = store.flush();
}
