//! What follows an HTTP/1 head (first line and header lines), as determined by its lines.

use super::conversation::FlowConversation;
use super::fields::{self, KeptField};
use super::lines::{FirstLine, LINE_START_BYTES};

/// What follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// Another head.
    Head,
    /// A body of this many bytes, and then another head.
    Body(u64),
    /// An unknown number of bytes.
    Unknown,
    /// Frames of HTTP/2.
    Frames,
}

/// Facts of a head so far, which decide what follows it. All fields may be zeros.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct HeaderFacts {
    /// Length of the body stated by a header line, in bytes.
    length: u64,
    /// Status of a response; 0 for a request.
    status: u16,
    /// Whether the head is a request whose response has no body.
    is_bodiless: bool,
    /// Whether a header line stated a valid length of the body.
    has_length: bool,
    /// Whether the body's length cannot be determined from the head.
    is_open: bool,
    /// Whether a switch to HTTP/2 is requested or announced.
    is_http2: bool,
}

impl HeaderFacts {
    /// No facts yet.
    pub(super) const NONE: HeaderFacts = HeaderFacts {
        length: 0,
        status: 0,
        is_bodiless: false,
        has_length: false,
        is_open: false,
        is_http2: false,
    };

    /// Notes the facts of the first line.
    #[inline(always)]
    pub(super) fn note_first_line(&mut self, first: FirstLine) {
        match first {
            FirstLine::Request { is_bodiless } => self.is_bodiless = is_bodiless,
            FirstLine::Response { status } => self.status = status,
            FirstLine::Preface | FirstLine::Proxy => {}
        }
    }

    /// Notes the facts of the whole line `line`, which has the field `field`.
    #[inline(always)]
    pub(super) fn note_field(&mut self, field: KeptField, line: &[u8]) {
        if field == KeptField::ContentLength
            && !self.has_length
            && let Some(length) = fields::parse_usual_length(line)
        {
            (self.has_length, self.length) = (true, length);
        } else {
            self.note_field_slow(field, line);
        }
    }

    /// Notes the facts of a line of any form, as [`HeaderFacts::note_field`] does for usual ones.
    #[inline(never)]
    fn note_field_slow(&mut self, field: KeptField, line: &[u8]) {
        let start = line.get(..LINE_START_BYTES).unwrap_or(line);
        match field {
            KeptField::Naming => {}
            KeptField::ContentLength => match fields::parse_length(start) {
                Some(length) if !self.has_length || self.length == length => {
                    (self.has_length, self.length) = (true, length);
                }
                _ => self.is_open = true,
            },
            KeptField::TransferEncoding => self.is_open = true,
            KeptField::Upgrade => self.is_http2 = fields::announces_http2(start),
        }
    }

    /// Determines what follows the head, which is complete now.
    #[inline(always)]
    pub(super) fn body_framing(&self, conversation: &FlowConversation) -> BodyFraming {
        let with_length = match (self.is_open, self.has_length, self.length) {
            (true, _, _) => BodyFraming::Unknown,
            (false, true, 1..) => BodyFraming::Body(self.length),
            (false, _, _) => BodyFraming::Head,
        };
        match self.status {
            0 => {
                conversation.count_request(self.is_bodiless);
                return with_length;
            }
            // A tunnel, or another protocol.
            101 => {
                conversation.count_response();
                return if self.is_http2 { BodyFraming::Frames } else { BodyFraming::Unknown };
            }
            // Another response follows.
            100..200 => return BodyFraming::Head,
            _ => {}
        }
        match (conversation.count_response(), self.status) {
            (_, 204 | 304) | (Some(true), _) => BodyFraming::Head,
            (Some(false), _) if self.has_length => with_length,
            _ => BodyFraming::Unknown,
        }
    }
}
