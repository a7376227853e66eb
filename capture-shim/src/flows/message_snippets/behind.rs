//! What comes behind a head of HTTP/1, by what its lines tell.

use super::conversation::FlowConversation;
use super::fields::{self, KeptField};
use super::lines::{FirstLine, START};

/// What comes behind a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// Another head.
    Head,
    /// A body of this many bytes, and then another head.
    Body(u64),
    /// Bytes whose number is not known.
    Unknown,
    /// Frames of HTTP/2.
    Frames,
}

/// Facts of a head so far, which decide what comes behind it. All of it may be zeros.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct HeaderFacts {
    /// Length of the body as a line told it, in bytes.
    length: u64,
    /// Status of an answer; 0 for a request.
    status: u16,
    /// Whether the answer to a request has no body.
    is_bodiless: bool,
    /// Whether a line told a length of the body that makes sense.
    has_length: bool,
    /// Whether the body's length cannot be known from the head.
    is_open: bool,
    /// Whether the other end is asked to go on in HTTP/2, or told so.
    is_http2: bool,
}

impl HeaderFacts {
    /// Nothing yet.
    pub(super) const NONE: HeaderFacts = HeaderFacts {
        length: 0,
        status: 0,
        is_bodiless: false,
        has_length: false,
        is_open: false,
        is_http2: false,
    };

    /// Notes what the first line told.
    #[inline(always)]
    pub(super) fn note_first_line(&mut self, first: FirstLine) {
        match first {
            FirstLine::Request { is_bodiless } => self.is_bodiless = is_bodiless,
            FirstLine::Response { status } => self.status = status,
            FirstLine::Preface | FirstLine::Proxy => {}
        }
    }

    /// Notes what a whole line of that `field` tells, by its beginning.
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

    /// The same of any line.
    #[inline(never)]
    fn note_field_slow(&mut self, field: KeptField, line: &[u8]) {
        let start = line.get(..START).unwrap_or(line);
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

    /// What comes behind the head, which is whole now.
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
            // Another answer follows.
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
