//! Attributes of perf's events, which determine the parts of their samples.

use rustc_hash::FxHashMap;

use crate::events::perf::text::kind_of;
use crate::events::perf::tracepoint::ByteReader;

/// Bits of `sample_type`.
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;

/// Attribute of one event (perf_event_open(2), `perf_event_attr`).
#[derive(Clone, Debug, Default)]
pub(super) struct EventAttribute {
    sample_type: u64,
    read_format: u64,
    /// `provider/name`, if perf recorded it and the event is not a tracepoint.
    pub(super) kind: Option<String>,
    ids: Vec<u64>,
}

/// Attributes of all events, and the attribute of each id.
#[derive(Clone, Debug, Default)]
pub(super) struct EventAttributes {
    all: Vec<EventAttribute>,
    by_id: FxHashMap<u64, usize>,
}

/// Parsed sample of an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PerfSample<'b> {
    pub(super) process: i32,
    pub(super) thread: i32,
    pub(super) processor: i32,
    pub(super) time: Option<u64>,
    pub(super) raw: &'b [u8],
}

impl EventAttribute {
    /// Parses the attribute at the beginning of `bytes`.
    fn parse_attribute(bytes: &[u8]) -> Option<EventAttribute> {
        let mut bytes = ByteReader(bytes);
        // Type, size, config and period.
        bytes.take_bytes(24)?;
        let (sample_type, read_format) = (bytes.take_u64()?, bytes.take_u64()?);
        Some(EventAttribute { sample_type, read_format, ..EventAttribute::default() })
    }

    fn has_bit(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Offset of the id in a sample, in bytes.
    fn id_offset(&self) -> Option<usize> {
        if self.has_bit(IDENTIFIER) {
            return Some(0);
        }
        let before = [IP, TID, TIME, ADDR].iter().filter(|bit| self.has_bit(**bit)).count();
        self.has_bit(ID).then_some(8 * before)
    }

    /// Parses a sample.
    pub(super) fn parse_sample<'b>(&self, mut bytes: ByteReader<'b>) -> Option<PerfSample<'b>> {
        let mut sample = PerfSample { processor: -1, ..PerfSample::default() };
        for bit in [IDENTIFIER, IP] {
            if self.has_bit(bit) {
                bytes.take_u64()?;
            }
        }
        if self.has_bit(TID) {
            (sample.process, sample.thread) = (bytes.take_u32()? as i32, bytes.take_u32()? as i32);
        }
        if self.has_bit(TIME) {
            sample.time = Some(bytes.take_u64()?);
        }
        for bit in [ADDR, ID, STREAM_ID] {
            if self.has_bit(bit) {
                bytes.take_u64()?;
            }
        }
        if self.has_bit(CPU) {
            sample.processor = bytes.take_u32()? as i32;
            bytes.take_u32()?;
        }
        if self.has_bit(PERIOD) {
            bytes.take_u64()?;
        }
        if self.has_bit(READ) {
            let format = self.read_format;
            let times = (format & 3).count_ones() as usize;
            let each = 1 + (format >> 2 & 1) as usize + (format >> 4 & 1) as usize;
            let values = if format & 8 != 0 {
                times + usize::try_from(bytes.take_u64()?).ok()?.checked_mul(each)?
            } else {
                times + each
            };
            bytes.take_bytes(values.checked_mul(8)?)?;
        }
        if self.has_bit(CALLCHAIN) {
            let calls = usize::try_from(bytes.take_u64()?).ok()?;
            bytes.take_bytes(calls.checked_mul(8)?)?;
        }
        if self.has_bit(RAW) {
            let length = bytes.take_u32()? as usize;
            sample.raw = bytes.take_bytes(length)?;
        }
        Some(sample)
    }
}

impl EventAttributes {
    /// Reads the attributes of a file; `before` are its bytes before the records.
    pub(super) fn from_file(before: &[u8], size: u64, offset: u64, length: u64) -> EventAttributes {
        let mut attributes = EventAttributes::default();
        let part = |offset: u64, length: u64| {
            let (begin, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
            before.get(begin..begin.checked_add(length)?)
        };
        let entries = part(offset, length).unwrap_or_default();
        for entry in entries.chunks_exact(usize::try_from(size).unwrap_or(0).max(64)) {
            let Some((attribute, ids)) = entry.split_last_chunk::<16>() else { continue };
            let mut ids = ByteReader(ids);
            let ids = ids
                .take_u64()
                .zip(ids.take_u64())
                .and_then(|(offset, length)| part(offset, length));
            attributes.add_attribute(attribute, ids.unwrap_or_default());
        }
        attributes
    }

    /// Adds an attribute with its ids.
    pub(super) fn add_attribute(&mut self, attribute: &[u8], ids: &[u8]) {
        let Some(mut attribute) = EventAttribute::parse_attribute(attribute) else { return };
        let mut ids = ByteReader(ids);
        attribute.ids = std::iter::from_fn(|| ids.take_u64()).collect();
        self.by_id.extend(attribute.ids.iter().map(|id| (*id, self.all.len())));
        self.all.push(attribute);
    }

    /// Adds an attribute from a pipe: the attribute, with its size as a u32 at offset 4, and then
    /// u64 ids.
    pub(super) fn add_record(&mut self, body: &[u8]) {
        let size = ByteReader(body.get(4..).unwrap_or_default()).take_u32().unwrap_or(0) as usize;
        if let Some((attribute, ids)) = body.split_at_checked(size) {
            self.add_attribute(attribute, ids);
        }
    }

    /// Names events that are not tracepoints, by their ids.
    pub(super) fn add_names(&mut self, names: &[(String, u64)]) {
        for (name, id) in names {
            let place = self.by_id.get(id).copied();
            if let Some(attribute) = place.and_then(|place| self.all.get_mut(place)) {
                attribute.kind = Some(name.clone());
            }
        }
    }

    /// Attribute of a sample.
    pub(super) fn attribute_of_sample(&self, sample: &[u8]) -> Option<&EventAttribute> {
        let first = self.all.first()?;
        let place = first.id_offset().filter(|_| self.all.len() > 1);
        let Some(place) = place else { return Some(first) };
        let id = ByteReader(sample.get(place..)?).take_u64()?;
        self.by_id.get(&id).and_then(|place| self.all.get(*place))
    }
}

/// Kinds of events, each with an id, from the section EVENT_DESC: u32 number of events, u32 size of
/// an attribute; for each event its attribute, u32 number of ids, u32 length of the name, the name,
/// u64 ids.
pub(super) fn parse_names(section: &[u8]) -> Vec<(String, u64)> {
    let mut names = Vec::new();
    let mut read = || {
        let mut bytes = ByteReader(section);
        let (events, size) = (bytes.take_u32()?, bytes.take_u32()? as usize);
        for _ in 0..events {
            bytes.take_bytes(size)?;
            let (ids, length) = (bytes.take_u32()?, bytes.take_u32()? as usize);
            let name = kind_of(ByteReader::trim_padding(bytes.take_bytes(length)?));
            for _ in 0..ids {
                names.push((name.clone(), bytes.take_u64()?));
            }
        }
        Some(())
    };
    let _ = read();
    names
}
