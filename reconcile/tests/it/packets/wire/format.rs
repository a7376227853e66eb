//! Capture files of tcpdump and similar tools in both formats, either byte order and either unit of
//! time.

/// A captured frame.
#[derive(Clone, Debug)]
pub struct Frame {
    pub time: i64,
    pub bytes: Vec<u8>,
    /// The interface, of pcapng.
    pub interface: u32,
    /// The size of the frame on the wire, in bytes.
    pub original: usize,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub new: bool,
    pub big_endian: bool,
    pub nanoseconds: bool,
}

pub const FORMATS: [Format; 8] = {
    let mut all = [Format { new: false, big_endian: false, nanoseconds: false }; 8];
    let mut at = 0;
    while at < 8 {
        all[at] = Format { new: at & 1 != 0, big_endian: at & 2 != 0, nanoseconds: at & 4 != 0 };
        at += 1;
    }
    all
};

pub const PLAIN: Format = FORMATS[4];

impl Format {
    fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = self.u32(body.len() as u32 + 12);
        [&self.u32(kind), &length[..], &body, &length].concat()
    }

    /// A section's header, and `interfaces` of that link.
    pub fn section(self, link: u32, interfaces: usize) -> Vec<u8> {
        let head = [&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &[0xff; 8]].concat();
        let mut bytes = self.block(0x0a0d_0d0a, &head);
        for _ in 0..interfaces {
            let mut body = [&self.u16(link as u16)[..], &[0, 0], &self.u32(0)].concat();
            if self.nanoseconds {
                body.extend([&self.u16(9)[..], &self.u16(1), &[9, 0, 0, 0], &[0; 4]].concat());
            }
            bytes.extend(self.block(1, &body));
        }
        bytes
    }

    /// The file's header.
    pub fn header(self, link: u32) -> Vec<u8> {
        if self.new {
            return self.section(link, 3);
        }
        let magic = if self.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        [self.u32(magic), [self.u16(2), self.u16(4)].concat().try_into().unwrap()]
            .into_iter()
            .chain([0, 0, 262_144, link].map(|word| self.u32(word)))
            .flatten()
            .collect()
    }

    /// A record of the file.
    pub fn record(self, frame: &Frame) -> Vec<u8> {
        let unit = if self.nanoseconds { 1 } else { 1000 };
        let (captured, original) =
            (self.u32(frame.bytes.len() as u32), self.u32(frame.original as u32));
        if self.new {
            let ticks = (frame.time / unit) as u64;
            let time = [self.u32((ticks >> 32) as u32), self.u32(ticks as u32)].concat();
            let mut body =
                [&self.u32(frame.interface), &time[..], &captured, &original, &frame.bytes]
                    .concat();
            body.resize(body.len().next_multiple_of(4), 0);
            return self.block(6, &body);
        }
        let (seconds, rest) = (frame.time / 1_000_000_000, frame.time % 1_000_000_000 / unit);
        [&self.u32(seconds as u32)[..], &self.u32(rest as u32), &captured, &original, &frame.bytes]
            .concat()
    }

    /// The file.
    pub fn file(self, link: u32, frames: &[Frame]) -> Vec<u8> {
        let mut bytes = self.header(link);
        frames.iter().for_each(|frame| bytes.extend(self.record(frame)));
        bytes
    }
}
