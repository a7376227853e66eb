//! Sniffer: the files that one host, or one port of a switch, captured with one clock, as one
//! stream of packets.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use message_trace::Progress;

use super::container::{CaptureFile, CapturedFrame, NotACapture};
use super::flow::RecentPackets;
use super::fragments::FragmentReassembler;
use super::headers::{
    DecodedFrame, Packet, Transport, UNKNOWN_LINK, decode_frame, decode_reassembled,
};
use super::link_types::unsupported_link_name;
use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::{FilePlace, FilePosition, SkipCounts, SkippedItem};
use crate::tuning::MAX_NAMED_LINK_TYPES;

/// Files of one sniffer, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffer {
    /// Name of the sniffer: the name of the host on which it captured, or of the file.
    pub name: String,
    /// The capture files. Their packets are merged by time.
    pub files: Vec<PathBuf>,
    /// Bytes in place of the files.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Counts of what was read, and of what could not be used.
#[derive(Clone, Debug, Default)]
pub(crate) struct SnifferCounts {
    /// Number of frames read.
    pub(crate) frames: u64,
    /// Number of segments and datagrams.
    pub(crate) packets: u64,
    /// Number of packets that were captured in part.
    pub(crate) truncated: u64,
    pub(crate) skipped: SkipCounts,
    /// Unsupported link types; the first ones are each named once.
    links: BTreeSet<i32>,
}

/// Packet that the sniffer saw.
pub(crate) struct Sighting<'a, 'p> {
    pub(crate) packet: &'a Packet<'p>,
    /// CRC-32 of a datagram's payload, as far as it was captured.
    pub(crate) checksum: u32,
}

/// Calls `each` with every segment and datagram of `sniffer`, in the order of time as far as its
/// files have it.
///
/// # Errors
/// When a file cannot be opened, or none is a capture.
pub(crate) fn read_sniffer(
    sniffer: &Sniffer,
    progress: &dyn Progress,
    mut each: impl FnMut(&Sighting) -> Result<(), Error>,
) -> Result<SnifferCounts, Error> {
    let mut counts = SnifferCounts::default();
    let mut open = open_captures(sniffer, progress, &mut counts)?;
    let mut fragments = FragmentReassembler::default();
    loop {
        let next = (0..open.len())
            .min_by_key(|at| open.get(*at).map_or(i64::MAX, |file| file.container.time()));
        let Some(file) = next.and_then(|next| open.get_mut(next)) else { break };
        let number = file.number;
        if let Some(frame) = file.container.frame() {
            counts.frames += 1;
            let frame = CapturedFrame { interface: frame.interface | number << 16, ..frame };
            decode_and_emit(&frame, file.path, &mut fragments, &mut counts, &mut each)?;
        }
        if !file.advance_frame(&mut counts) {
            open.retain(|file| file.number != number);
        }
    }
    add_count(&mut counts, "fragments of incomplete packets", fragments.lost_packets());
    Ok(counts)
}

/// Does the same as [`read_sniffer`], without copies of recent packets, such as those on another
/// interface. `canonical` replaces translated addresses of a packet first.
pub(crate) fn read_without_copies(
    sniffer: &Sniffer,
    progress: &dyn Progress,
    mut canonical: impl FnMut(&mut Packet),
    mut each: impl FnMut(&Sighting) -> Result<(), Error>,
) -> Result<SnifferCounts, Error> {
    let mut copies = RecentPackets::new();
    let mut copied = 0;
    let mut counts = read_sniffer(sniffer, progress, |seen| {
        let mut packet = *seen.packet;
        canonical(&mut packet);
        if copies.is_copy(&packet, seen.checksum) {
            copied += 1;
            return Ok(());
        }
        each(&Sighting { packet: &packet, checksum: seen.checksum })
    })?;
    add_count(&mut counts, "copies of a packet", copied);
    Ok(counts)
}

fn add_count(counts: &mut SnifferCounts, cause: &'static str, number: u64) {
    if number > 0 {
        *counts.skipped.causes.entry(cause).or_default() += number;
    }
}

fn decode_and_emit(
    frame: &CapturedFrame,
    path: &Path,
    fragments: &mut FragmentReassembler,
    counts: &mut SnifferCounts,
    each: &mut impl FnMut(&Sighting) -> Result<(), Error>,
) -> Result<(), Error> {
    let whole;
    let decoded = match decode_frame(frame) {
        DecodedFrame::Fragment(fragment) => match fragments.add_fragment(&fragment) {
            Some(bytes) => {
                whole = bytes;
                decode_reassembled(&fragment, &whole, frame)
            }
            None => return Ok(()),
        },
        decoded => decoded,
    };
    match decoded {
        DecodedFrame::Packet(packet) => {
            counts.packets += 1;
            let cut = (packet.payload.len() as u32) < packet.bytes;
            counts.truncated += u64::from(cut && packet.transport == Transport::Udp);
            let checksum = match packet.transport {
                Transport::Udp => crc32fast::hash(packet.payload),
                Transport::Tcp(_) => 0,
            };
            each(&Sighting { packet: &packet, checksum })
        }
        DecodedFrame::Other(UNKNOWN_LINK)
            if counts.links.len() < MAX_NAMED_LINK_TYPES && counts.links.insert(frame.link) =>
        {
            let skip = || SkippedItem {
                place: FilePlace::new(path, FilePosition::File),
                why: unsupported_link_name(frame.link),
            };
            counts.skipped.add(UNKNOWN_LINK, skip);
            Ok(())
        }
        DecodedFrame::Other(cause) => {
            add_count(counts, cause, 1);
            Ok(())
        }
        DecodedFrame::Fragment(_) => Ok(()),
    }
}

struct OpenCapture<'a> {
    path: &'a Path,
    number: u32,
    container: CaptureFile<'a>,
}

impl OpenCapture<'_> {
    /// Advances to the next frame, and counts damage on the way; returns `false` at the end.
    fn advance_frame(&mut self, counts: &mut SnifferCounts) -> bool {
        let more = self.container.advance();
        for damage in self.container.take_damage() {
            let place = FilePlace::new(self.path, FilePosition::Offset(damage.offset));
            counts.skipped.add(damage.cause, || SkippedItem { place, why: damage.why });
        }
        for (cause, count) in self.container.take_more_damage() {
            *counts.skipped.causes.entry(cause).or_default() += count;
        }
        more
    }
}

fn open_captures<'a>(
    sniffer: &'a Sniffer,
    progress: &'a dyn Progress,
    counts: &mut SnifferCounts,
) -> Result<Vec<OpenCapture<'a>>, Error> {
    let mut open = Vec::new();
    for (path, number) in sniffer.files.iter().zip(0..) {
        let input: Box<dyn Read + 'a> = match &sniffer.bytes {
            Some(bytes) => Box::new(bytes.as_slice()),
            None => ImportInput::open(path, progress)?.bytes,
        };
        let container = match CaptureFile::open(input) {
            Ok(container) => container,
            Err(NotACapture::Io(error)) => return Err(Error::from_io(path, error)),
            Err(NotACapture::Empty) => {
                let why = "it is empty: the capture was not written, or not yet";
                let place = FilePlace::new(path, FilePosition::File);
                counts.skipped.add("empty file", || SkippedItem { place, why: why.into() });
                continue;
            }
            Err(NotACapture::Other) => {
                let why = "this is neither pcap nor pcapng; make captures with 'tcpdump -w FILE' \
                           or a similar tool";
                return Err(Error::malformed_at(path, FilePosition::Offset(0), why));
            }
        };
        let mut file = OpenCapture { path, number, container };
        if file.advance_frame(counts) {
            open.push(file);
        }
    }
    Ok(open)
}
