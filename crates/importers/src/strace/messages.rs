//! Payloads in arguments: a text, a list of buffers, a message header, or a list of these.

use std::ops::Range;

use super::address;
use super::arguments::ArgumentCursor;

/// Payload of a call, as far as the line contains it.
#[derive(Debug, Default)]
pub(super) struct CallPayload {
    /// Bytes that the line contains.
    pub(super) bytes: Vec<u8>,
    /// Whether nothing before the end was truncated.
    pub(super) is_whole: bool,
    /// Total size of the buffers, in bytes.
    pub(super) capacity: u64,
}

impl CallPayload {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.is_whole = true;
        self.capacity = 0;
    }

    /// CRC-32 of the payload's bytes at `place`; `None` if the line does not contain all of them.
    pub(super) fn checksum(&self, place: Range<u64>) -> Option<u32> {
        let ends = usize::try_from(place.start).ok()?..usize::try_from(place.end).ok()?;
        let bytes = self.bytes.get(ends)?;
        // The truncated part may be outside of `place`, but positions are unknown after a truncated
        // buffer.
        (self.is_whole || bytes.is_empty()).then(|| crc32fast::hash(bytes))
    }

    /// Adds one text; strace prints a pointer if it could not read it.
    pub(super) fn add_text(&mut self, mut value: ArgumentCursor) {
        match value.read_text(&mut self.bytes) {
            Some(whole) => self.is_whole &= whole,
            None => self.is_whole &= value.eat_token(b"NULL"),
        }
    }

    /// Adds `[{iov_base="...", iov_len=5}, ...]`, or the elements without names.
    pub(super) fn add_vector(&mut self, mut value: ArgumentCursor) {
        let read = value.for_each_field(|_, mut element| {
            if element.eat_token(b"...") {
                self.is_whole = false;
                return;
            }
            let mut place = 0;
            let done = element.for_each_field(|name, mut field| {
                match (name, place) {
                    (b"iov_base", _) | (b"", 0) => self.add_text(field),
                    (b"iov_len", _) | (b"", 1) => {
                        let length = field.read_number().unwrap_or(0);
                        self.capacity = self.capacity.saturating_add(length.max(0) as u64);
                    }
                    _ => {}
                }
                place += 1;
            });
            self.is_whole &= done.is_some();
        });
        self.is_whole &= read.is_some() || value.eat_token(b"NULL");
    }
}

/// Header of a message.
#[derive(Debug, Default)]
pub(super) struct MessageHeader<'a> {
    /// Raw `sockaddr` of the message's name, or empty.
    pub(super) name: Vec<u8>,
    /// Whether a part did not fit into the buffers.
    pub(super) is_truncated: bool,
    /// Cursor after `msg_control=`.
    pub(super) control: Option<ArgumentCursor<'a>>,
}

/// Parses
/// `{msg_name={...}, msg_namelen=16, msg_iov=[...], msg_iovlen=1, msg_controllen=0, msg_flags=0}`.
/// `None` if it is not shown.
pub(super) fn parse_header<'a>(
    mut value: ArgumentCursor<'a>,
    payload: &mut CallPayload,
) -> Option<MessageHeader<'a>> {
    let mut message = MessageHeader::default();
    if value.peek() != Some(b'{') {
        return None;
    }
    value.for_each_field(|name, field| match name {
        b"msg_name" => message.name = address::parse_sockaddr(field).unwrap_or_default(),
        b"msg_iov" => payload.add_vector(field),
        b"msg_flags" => message.is_truncated = field.read_flags().has_flag("MSG_TRUNC"),
        b"msg_control" => message.control = Some(field),
        _ => {}
    })?;
    Some(message)
}

/// Parses `[{msg_hdr={...}, msg_len=5}, ...]`: calls `each` with each header and its number of
/// bytes.
pub(super) fn for_each_header<'a>(
    mut value: ArgumentCursor<'a>,
    mut each: impl FnMut(ArgumentCursor<'a>, u64),
) -> Option<()> {
    value.for_each_field(|_, mut element| {
        let (mut header, mut length) = (None, None);
        let mut place = 0;
        element.for_each_field(|name, mut field| {
            match (name, place) {
                (b"msg_hdr", _) | (b"", 0) => header = Some(field),
                (b"msg_len", _) | (b"", 1) => length = field.read_number(),
                _ => {}
            }
            place += 1;
        });
        if let (Some(header), Some(length)) = (header, length) {
            each(header, length.max(0) as u64);
        }
    })
}

/// Calls `each` with the descriptors that came with a message (`SCM_RIGHTS`).
pub(super) fn for_each_right(control: ArgumentCursor, mut each: impl FnMut(i32)) {
    let mut control = control;
    control.for_each_field(|_, mut element| {
        let (mut is_rights, mut data) = (false, None);
        element.for_each_field(|name, field| match name {
            b"cmsg_type" => is_rights = field.read_flags().has_flag("SCM_RIGHTS"),
            b"cmsg_data" | b"" => data = Some(field),
            _ => {}
        });
        if let (true, Some(mut data)) = (is_rights, data) {
            data.for_each_field(|_, mut fd| {
                if let Some(fd) = fd.read_descriptor() {
                    each(fd.number);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload() -> CallPayload {
        CallPayload { is_whole: true, ..CallPayload::default() }
    }

    #[test]
    fn headers_of_new_and_old_versions_are_parsed() {
        for text in [
            r#"{msg_name={sa_family=AF_INET, sin_port=htons(7), sin_addr=inet_addr("10.0.0.9")}, msg_namelen=16, msg_iov=[{iov_base="ab", iov_len=2}, {iov_base="c", iov_len=80}], msg_iovlen=2, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[20<UNIX-STREAM:[5->6]>, 21]}], msg_controllen=24, msg_flags=MSG_TRUNC}, 0) = 3"#,
            r#"{msg_name(16)={sa_family=AF_INET, sin_port=htons(7), sin_addr=inet_addr("10.0.0.9")}, msg_iov(2)=[{"ab", 2}, {"c", 80}], msg_control(24)=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, [20, 21]}], msg_flags=MSG_TRUNC}, 0) = 3"#,
        ] {
            let mut payload = payload();
            let message = parse_header(ArgumentCursor::new(text.as_bytes()), &mut payload).unwrap();
            assert_eq!(address::inet_address(&message.name), Some("10.0.0.9:7".parse().unwrap()));
            assert_eq!(
                (payload.bytes.as_slice(), payload.is_whole, payload.capacity),
                (&b"abc"[..], true, 82)
            );
            assert!(message.is_truncated);
            let mut fds = Vec::new();
            for_each_right(message.control.unwrap(), |fd| fds.push(fd));
            assert_eq!(fds, [20, 21]);
        }
        assert!(parse_header(ArgumentCursor::new(b"0x7ffe, 0) = -1"), &mut payload()).is_none());
    }

    #[test]
    fn only_complete_payloads_have_checksums() {
        let of = |text: &str, length| {
            let mut payload = payload();
            payload.add_vector(ArgumentCursor::new(text.as_bytes()));
            payload.checksum(0..length)
        };
        assert_eq!(
            of(r#"[{iov_base="1234", iov_len=4}, {iov_base="56789", iov_len=5}]"#, 9),
            Some(0xcbf4_3926)
        );
        assert_eq!(
            of(r#"[{iov_base="1234", iov_len=4}, {iov_base="56789xyz", iov_len=8}]"#, 9),
            Some(0xcbf4_3926)
        );
        assert_eq!(
            of(r#"[{iov_base="1234"..., iov_len=400}, {iov_base="56789", iov_len=5}]"#, 9),
            None
        );
        assert_eq!(of(r#"[{iov_base="1234", iov_len=4}, ...]"#, 9), None);
        assert_eq!(of(r#"[{iov_base="1234", iov_len=4}]"#, 9), None);
        assert_eq!(of(r#"[{iov_base=0x7ffe, iov_len=4}]"#, 4), None);
        assert_eq!(of("0x7ffe", 4), None);
        assert_eq!(of("[]", 0), Some(0));
    }

    #[test]
    fn batches() {
        let text = r#"[{msg_hdr={msg_name=NULL, msg_iov=[{iov_base="a", iov_len=9}], msg_flags=0}, msg_len=1}, {msg_hdr={msg_iov=[]}, msg_len=0}, ...], 3, 0, NULL) = 3"#;
        let mut lengths = Vec::new();
        for_each_header(ArgumentCursor::new(text.as_bytes()), |_, length| lengths.push(length))
            .unwrap();
        assert_eq!(lengths, [1, 0]);
        assert!(for_each_header(ArgumentCursor::new(b"0x7ffe, 3"), |_, _| ()).is_none());
    }
}
