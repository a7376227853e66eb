//! Capture files: pcap and pcapng of either byte order, with any time resolution, as a stream of
//! frames.
//!
//! Files are read record by record, so that their size does not matter, and each record's offset is
//! known, so that damage can be reported by file and byte. pcap-parser parses the fields of headers
//! and blocks; the iteration over records is here, as a damaged record must neither end the file
//! early nor be trusted if it claims to be gigabytes long.

use std::collections::BTreeMap;
use std::io::{self, Read};

use pcap_parser::pcapng::{Block, parse_block_be, parse_block_le};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{OptionCode, PcapNGOption};

use crate::tuning::{MAX_HELD_DAMAGE, MAX_INTERFACES, MAX_RECORD_BYTES};

/// Nanoseconds per second.
const SECOND: i64 = 1_000_000_000;

/// Direction in which a frame passed the interface where it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameDirection {
    /// The file does not record the direction, or the frame was for another host.
    Unknown,
    /// To this host, or through it.
    In,
    /// From this host, or through it.
    Out,
}

/// A frame as it was captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturedFrame<'a> {
    /// Time in nanoseconds since the Unix epoch by the sniffer's clock.
    pub(crate) time: i64,
    /// Type of the link, one of tcpdump's `LINKTYPE_` numbers.
    pub(crate) link: i32,
    /// The interface, by its index in the section.
    pub(crate) interface: u32,
    pub(crate) direction: FrameDirection,
    /// Size of the frame on the wire, in bytes.
    pub(crate) original: u32,
    /// Bytes of the frame, as far as they were captured.
    pub(crate) data: &'a [u8],
}

/// Damage in a file. Reading continues after it if possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaptureDamage {
    /// Offset in bytes from the beginning; in a compressed file, of its content.
    pub(crate) offset: u64,
    /// Cause by which damage is counted.
    pub(crate) cause: &'static str,
    /// Description for the user.
    pub(crate) why: String,
}

/// A capture file being read.
pub(crate) struct CaptureFile<'a> {
    input: Box<dyn Read + 'a>,
    /// Bytes read so far.
    position: u64,
    format: CaptureFormat,
    record: Vec<u8>,
    /// The latest frame, without its data.
    head: Option<FrameHeader>,
    damage: Vec<CaptureDamage>,
    /// Number of further damages, by cause.
    more_damage: BTreeMap<&'static str, u64>,
    ended: bool,
}

#[derive(Clone, Copy)]
struct FrameHeader {
    time: i64,
    link: i32,
    interface: u32,
    direction: FrameDirection,
    original: u32,
    /// Range of the frame's data in the record.
    begin: usize,
    end: usize,
}

enum CaptureFormat {
    /// The pcap format: `unit` is the unit of fractions of a second, in nanoseconds, and `head` the
    /// size of a record's header, in bytes.
    Pcap { big_endian: bool, unit: i64, link: i32, head: usize },
    /// The pcapng format.
    PcapNg { big_endian: bool, interfaces: Vec<CaptureInterface> },
}

#[derive(Clone, Copy)]
struct CaptureInterface {
    link: i32,
    /// Time units per second.
    units: u64,
    /// Offset of times, in seconds.
    offset: i64,
    /// Maximum captured size of a frame, in bytes.
    snap: u32,
}

/// Reason why a file is not a capture.
#[derive(Debug)]
pub(crate) enum NotACapture {
    /// The file could not be read.
    Io(io::Error),
    /// The file is empty.
    Empty,
    /// The file is something else, or its header is damaged.
    Other,
}

impl<'a> CaptureFile<'a> {
    /// Reads the file's header.
    pub(crate) fn open(input: Box<dyn Read + 'a>) -> Result<CaptureFile<'a>, NotACapture> {
        let mut this = CaptureFile {
            input,
            position: 0,
            format: CaptureFormat::PcapNg { big_endian: false, interfaces: Vec::new() },
            record: Vec::new(),
            head: None,
            damage: Vec::new(),
            more_damage: BTreeMap::new(),
            ended: false,
        };
        match this.fill_buffer(0, 4).map_err(NotACapture::Io)? {
            0 => return Err(NotACapture::Empty),
            4 => {}
            _ => return Err(NotACapture::Other),
        }
        if this.record.starts_with(&SECTION) {
            this.section_header()?;
        } else {
            this.pcap_header()?;
        }
        Ok(this)
    }

    fn pcap_header(&mut self) -> Result<(), NotACapture> {
        if self.fill_buffer(4, 20).map_err(NotACapture::Io)? < 20 {
            return Err(NotACapture::Other);
        }
        let Ok((_, header)) = pcap_parser::parse_pcap_header(&self.record) else {
            return Err(NotACapture::Other);
        };
        self.format = CaptureFormat::Pcap {
            big_endian: header.is_bigendian(),
            unit: if header.is_nanosecond_precision() { 1 } else { 1000 },
            // The upper bits describe frame check sequences.
            link: header.network.0 & 0xffff,
            head: if header.is_modified_format() { 24 } else { 16 },
        };
        Ok(())
    }

    /// Reads the first section's header, after its block type has been read.
    fn section_header(&mut self) -> Result<(), NotACapture> {
        match self.read_block(4) {
            Ok(true) if self.damage.is_empty() => Ok(()),
            Ok(_) => Err(NotACapture::Other),
            Err(error) => Err(NotACapture::Io(error)),
        }
    }

    /// Advances to the next frame. Returns `false` if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        self.head = None;
        while !self.ended && self.head.is_none() {
            let begin = self.position;
            let more = match self.format {
                CaptureFormat::Pcap { .. } => self.pcap_record(),
                CaptureFormat::PcapNg { .. } => self.read_block(0),
            };
            match more {
                Ok(more) => self.ended |= !more,
                Err(error) => {
                    self.add_damage(
                        begin,
                        "cannot be read further",
                        format!("it cannot be read: {error}"),
                    );
                    self.ended = true;
                }
            }
        }
        self.head.is_some()
    }

    /// Frame that `CaptureFile::advance` moved to.
    pub(crate) fn frame(&self) -> Option<CapturedFrame<'_>> {
        let FrameHeader { time, link, interface, direction, original, begin, end } = self.head?;
        let data = self.record.get(begin..end)?;
        Some(CapturedFrame { time, link, interface, direction, original, data })
    }

    /// Time of the latest frame; `i64::MAX` if there is none.
    pub(crate) fn time(&self) -> i64 {
        self.head.map_or(i64::MAX, |head| head.time)
    }

    /// Takes the damages that were found since the last call.
    pub(crate) fn take_damage(&mut self) -> Vec<CaptureDamage> {
        std::mem::take(&mut self.damage)
    }

    /// Takes the counts of damage without descriptions since the last call, by cause.
    pub(crate) fn take_more_damage(&mut self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.more_damage)
    }

    /// Reads `more` bytes after the first `have` bytes of the record; returns how many there were.
    fn fill_buffer(&mut self, have: usize, more: usize) -> io::Result<usize> {
        self.record.resize(have, 0);
        let read = self.input.by_ref().take(more as u64).read_to_end(&mut self.record)?;
        self.position += read as u64;
        Ok(read)
    }

    fn add_damage(&mut self, offset: u64, cause: &'static str, why: String) {
        if self.damage.len() < MAX_HELD_DAMAGE {
            self.damage.push(CaptureDamage { offset, cause, why });
        } else {
            *self.more_damage.entry(cause).or_default() += 1;
        }
    }

    fn cut_off(&mut self, begin: u64) -> io::Result<bool> {
        self.add_damage(begin, "cut off", "the file ends inside a record".into());
        Ok(false)
    }

    fn pcap_record(&mut self) -> io::Result<bool> {
        let CaptureFormat::Pcap { big_endian, unit, link, head } = self.format else {
            return Ok(false);
        };
        let begin = self.position;
        match self.fill_buffer(0, head)? {
            0 => return Ok(false),
            read if read < head => return self.cut_off(begin),
            _ => {}
        }
        let word = |at: usize| u32_at(&self.record, at, big_endian);
        let [seconds, fraction, captured, original] = [word(0), word(4), word(8), word(12)];
        if captured as usize > MAX_RECORD_BYTES {
            let why = format!("a packet of {captured} bytes; the rest of the file is not read");
            self.add_damage(begin, "impossible length", why);
            return Ok(false);
        }
        if self.fill_buffer(head, captured as usize)? < captured as usize {
            return self.cut_off(begin);
        }
        let fraction = i64::from(fraction) * unit;
        if fraction >= SECOND {
            self.add_damage(begin, "impossible time", "a fraction of more than a second".into());
            return Ok(true);
        }
        let end = head + captured as usize;
        let time = i64::from(seconds) * SECOND + fraction;
        let original = original.max(captured);
        self.head = Some(FrameHeader {
            time,
            link,
            interface: 0,
            direction: FrameDirection::Unknown,
            original,
            begin: head,
            end,
        });
        Ok(true)
    }

    /// Reads a block of pcapng. The first `have` bytes of the block have been read already. Returns
    /// `false` if there is none.
    fn read_block(&mut self, have: usize) -> io::Result<bool> {
        const HEAD: usize = 12;
        let begin = self.position - have as u64;
        let read = have + self.fill_buffer(have, HEAD - have)?;
        if read < HEAD {
            return if read == 0 { Ok(false) } else { self.cut_off(begin) };
        }
        let CaptureFormat::PcapNg { big_endian, interfaces } = &mut self.format else {
            return Ok(false);
        };
        if self.record.starts_with(&SECTION) {
            *big_endian = match self.record.get(8..12) {
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => true,
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => false,
                _ => {
                    let why = "a section of unknown byte order; the rest of the file is not read";
                    self.add_damage(begin, "damaged block", why.into());
                    return Ok(false);
                }
            };
            interfaces.clear();
        }
        let big_endian = *big_endian;
        let length = u32_at(&self.record, 4, big_endian) as usize;
        if length < HEAD || !length.is_multiple_of(4) || length > MAX_RECORD_BYTES {
            let why = format!("a block of {length} bytes; the rest of the file is not read");
            self.add_damage(begin, "impossible length", why);
            return Ok(false);
        }
        if self.fill_buffer(HEAD, length - HEAD)? < length - HEAD {
            return self.cut_off(begin);
        }
        let parse = if big_endian { parse_block_be } else { parse_block_le };
        let record = std::mem::take(&mut self.record);
        let damage = match parse(&record) {
            Ok((_, block)) => self.use_block(&block, &record, big_endian).err(),
            Err(_) => Some(("damaged block", "a malformed block".to_owned())),
        };
        self.record = record;
        if let Some((cause, why)) = damage {
            self.add_damage(begin, cause, why);
        }
        Ok(true)
    }

    fn use_block(
        &mut self,
        block: &Block,
        record: &[u8],
        big_endian: bool,
    ) -> Result<(), BlockFault> {
        let CaptureFormat::PcapNg { interfaces, .. } = &mut self.format else { return Ok(()) };
        match block {
            Block::InterfaceDescription(described) => {
                if interfaces.len() >= MAX_INTERFACES {
                    return Err(("damaged block", "too many interfaces".into()));
                }
                interfaces.push(CaptureInterface {
                    link: described.linktype.0 & 0xffff,
                    units: units_per_second(described.if_tsresol)
                        .ok_or(("damaged block", "an impossible time resolution".to_owned()))?,
                    offset: timestamp_offset(&described.options, big_endian),
                    snap: described.snaplen,
                });
            }
            Block::EnhancedPacket(packet) => {
                let interface = interfaces.get(packet.if_id as usize).copied();
                let interface = interface.ok_or((
                    "unknown interface",
                    format!("a packet of interface {}", packet.if_id),
                ))?;
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let time = interface
                    .ticks_to_time(ticks)
                    .ok_or(("impossible time", "a time out of range".to_owned()))?;
                let direction = direction_of_flags(&packet.options, big_endian);
                let (begin, length) = (28, packet.packet_data().len());
                self.head = Some(FrameHeader {
                    time,
                    link: interface.link,
                    interface: packet.if_id,
                    direction,
                    original: packet.origlen.max(length as u32),
                    begin,
                    end: (begin + length).min(record.len()),
                });
            }
            Block::SimplePacket(_) => {
                let snap = interfaces.first().map_or(0, |interface| interface.snap);
                return Err((
                    "no time",
                    format!("a packet without a time (of at most {snap} bytes)"),
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Cause and description of a block's damage.
type BlockFault = (&'static str, String);

/// Block type of a section header: the same in both byte orders.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

impl CaptureInterface {
    fn ticks_to_time(&self, ticks: u64) -> Option<i64> {
        let (whole, rest) = (ticks / self.units, ticks % self.units);
        let nanoseconds = u128::from(rest) * SECOND as u128 / u128::from(self.units);
        let seconds = i64::try_from(whole).ok()?.checked_add(self.offset)?;
        seconds.checked_mul(SECOND)?.checked_add(nanoseconds as i64)
    }
}

/// Units per second by the option `if_tsresol`: a negative power of ten or, with the top bit, of
/// two.
fn units_per_second(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 { 10u64.checked_pow(power) } else { 1u64.checked_shl(power) }
}

/// Value of the option `if_tsoffset`.
fn timestamp_offset(options: &[PcapNGOption], big_endian: bool) -> i64 {
    let value = options.iter().find(|option| option.code == OptionCode::IfTsoffset);
    let bytes = value.and_then(|option| <[u8; 8]>::try_from(option.value().get(..8)?).ok());
    bytes.map_or(
        0,
        |bytes| if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) },
    )
}

/// Direction in the option `epb_flags`.
fn direction_of_flags(options: &[PcapNGOption], big_endian: bool) -> FrameDirection {
    const FLAGS: OptionCode = OptionCode(2);
    let Some(option) = options.iter().find(|option| option.code == FLAGS) else {
        return FrameDirection::Unknown;
    };
    match u32_at(option.value(), 0, big_endian) & 3 {
        1 => FrameDirection::In,
        2 => FrameDirection::Out,
        _ => FrameDirection::Unknown,
    }
}

/// Reads the 32-bit number at `at`; 0 if it is missing.
fn u32_at(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes =
        bytes.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).unwrap_or_default();
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}
