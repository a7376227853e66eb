//! A sniffer: its capture by a clock of its own, and the file that it writes.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::{EPOCH, Format, Frame, Link, PLAIN, Packet};

/// A sniffer: its capture, by its own clock.
#[derive(Clone, Debug)]
pub struct Sniffer {
    pub link: Link,
    pub format: Format,
    /// Nanoseconds by which its clock is ahead.
    pub offset: i64,
    /// Captured length of each frame.
    pub snap: usize,
    /// The addresses of its host, for links that have the direction.
    pub own: Vec<IpAddr>,
    pub frames: Vec<Frame>,
    pub v6: bool,
}

impl Sniffer {
    pub fn new(link: Link) -> Sniffer {
        let frames = Vec::new();
        Sniffer {
            link,
            format: PLAIN,
            offset: 0,
            snap: usize::MAX,
            own: Vec::new(),
            frames,
            v6: false,
        }
    }

    pub fn on(mut self, own: &[&str]) -> Sniffer {
        self.own = own.iter().map(|own| own.parse().unwrap()).collect();
        self
    }

    pub fn ahead(mut self, offset: i64) -> Sniffer {
        self.offset = offset;
        self
    }

    pub fn cut(mut self, snap: usize) -> Sniffer {
        self.snap = snap;
        self
    }

    /// Captures `packet` at `time` from its beginning.
    pub fn see(&mut self, time: i64, packet: &Packet) {
        self.see_on(0, time, packet);
    }

    pub fn see_on(&mut self, interface: u32, time: i64, packet: &Packet) {
        let out = self.own.contains(&packet.source.ip());
        let mut bytes = self.link.frame(packet, out);
        let original = bytes.len();
        bytes.truncate(self.snap);
        self.v6 |= packet.is_v6();
        self.frames.push(Frame { time: EPOCH + self.offset + time, bytes, interface, original });
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.format.file(self.link.number(self.v6), &self.frames)
    }

    pub fn write(&self, directory: &Path, name: &str) -> PathBuf {
        write(directory, name, &self.bytes())
    }
}

pub fn write(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
