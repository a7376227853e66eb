//! Attributes of perf's events: which parts their samples have.

use rustc_hash::FxHashMap;

use crate::events::perf::text::kind_of;
use crate::events::perf::tracepoint::Bytes;

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

/// The attribute of one event.
#[derive(Clone, Debug, Default)]
pub(super) struct Attribute {
    sample_type: u64,
    read_format: u64,
    /// `provider/name`, where perf wrote it down and the event is no tracepoint.
    pub(super) kind: Option<String>,
    ids: Vec<u64>,
}

/// The attributes of all events, and the attributes of each id.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    all: Vec<Attribute>,
    by_id: FxHashMap<u64, usize>,
}

/// A sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample<'b> {
    pub(super) process: i32,
    pub(super) thread: i32,
    pub(super) processor: i32,
    pub(super) time: Option<u64>,
    pub(super) raw: &'b [u8],
}

impl Attribute {
    /// The attribute that `bytes` begin with.
    fn parse(bytes: &[u8]) -> Option<Attribute> {
        let mut bytes = Bytes(bytes);
        // Type, size, config and period.
        bytes.take(24)?;
        let (sample_type, read_format) = (bytes.u64()?, bytes.u64()?);
        Some(Attribute { sample_type, read_format, ..Attribute::default() })
    }

    fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Where the id is in a sample, in bytes.
    fn place_of_id(&self) -> Option<usize> {
        if self.has(IDENTIFIER) {
            return Some(0);
        }
        let before = [IP, TID, TIME, ADDR].iter().filter(|bit| self.has(**bit)).count();
        self.has(ID).then_some(8 * before)
    }

    /// Reads a sample.
    pub(super) fn sample<'b>(&self, mut bytes: Bytes<'b>) -> Option<Sample<'b>> {
        let mut sample = Sample { processor: -1, ..Sample::default() };
        for bit in [IDENTIFIER, IP] {
            if self.has(bit) {
                bytes.u64()?;
            }
        }
        if self.has(TID) {
            (sample.process, sample.thread) = (bytes.u32()? as i32, bytes.u32()? as i32);
        }
        if self.has(TIME) {
            sample.time = Some(bytes.u64()?);
        }
        for bit in [ADDR, ID, STREAM_ID] {
            if self.has(bit) {
                bytes.u64()?;
            }
        }
        if self.has(CPU) {
            sample.processor = bytes.u32()? as i32;
            bytes.u32()?;
        }
        if self.has(PERIOD) {
            bytes.u64()?;
        }
        if self.has(READ) {
            let format = self.read_format;
            let times = (format & 3).count_ones() as usize;
            let each = 1 + (format >> 2 & 1) as usize + (format >> 4 & 1) as usize;
            let values = if format & 8 != 0 {
                times + usize::try_from(bytes.u64()?).ok()?.checked_mul(each)?
            } else {
                times + each
            };
            bytes.take(values.checked_mul(8)?)?;
        }
        if self.has(CALLCHAIN) {
            let calls = usize::try_from(bytes.u64()?).ok()?;
            bytes.take(calls.checked_mul(8)?)?;
        }
        if self.has(RAW) {
            let length = bytes.u32()? as usize;
            sample.raw = bytes.take(length)?;
        }
        Some(sample)
    }
}

impl Attributes {
    /// The attributes of a file whose bytes before its records are `before`.
    pub(super) fn of_file(before: &[u8], size: u64, offset: u64, length: u64) -> Attributes {
        let mut attributes = Attributes::default();
        let part = |offset: u64, length: u64| {
            let (begin, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
            before.get(begin..begin.checked_add(length)?)
        };
        let entries = part(offset, length).unwrap_or_default();
        for entry in entries.chunks_exact(usize::try_from(size).unwrap_or(0).max(64)) {
            let Some((attribute, ids)) = entry.split_last_chunk::<16>() else { continue };
            let mut ids = Bytes(ids);
            let ids = ids.u64().zip(ids.u64()).and_then(|(offset, length)| part(offset, length));
            attributes.add(attribute, ids.unwrap_or_default());
        }
        attributes
    }

    /// Adds an attribute with its ids.
    pub(super) fn add(&mut self, attribute: &[u8], ids: &[u8]) {
        let Some(mut attribute) = Attribute::parse(attribute) else { return };
        let mut ids = Bytes(ids);
        attribute.ids = std::iter::from_fn(|| ids.u64()).collect();
        self.by_id.extend(attribute.ids.iter().map(|id| (*id, self.all.len())));
        self.all.push(attribute);
    }

    /// Adds an attribute as it is in a pipe: its size is in it, and ids are behind it.
    pub(super) fn add_record(&mut self, body: &[u8]) {
        let size = Bytes(body.get(4..).unwrap_or_default()).u32().unwrap_or(0) as usize;
        if let Some((attribute, ids)) = body.split_at_checked(size) {
            self.add(attribute, ids);
        }
    }

    /// Names events that are no tracepoints, by their ids.
    pub(super) fn name(&mut self, names: &[(String, u64)]) {
        for (name, id) in names {
            let place = self.by_id.get(id).copied();
            if let Some(attribute) = place.and_then(|place| self.all.get_mut(place)) {
                attribute.kind = Some(name.clone());
            }
        }
    }

    /// The attribute of a sample.
    pub(super) fn of(&self, sample: &[u8]) -> Option<&Attribute> {
        let first = self.all.first()?;
        let place = first.place_of_id().filter(|_| self.all.len() > 1);
        let Some(place) = place else { return Some(first) };
        let id = Bytes(sample.get(place..)?).u64()?;
        self.by_id.get(&id).and_then(|place| self.all.get(*place))
    }
}

/// Kinds of events with an id of each, by the feature that names them.
pub(super) fn names_of(section: &[u8]) -> Vec<(String, u64)> {
    let mut names = Vec::new();
    let mut read = || {
        let mut bytes = Bytes(section);
        let (events, size) = (bytes.u32()?, bytes.u32()? as usize);
        for _ in 0..events {
            bytes.take(size)?;
            let (ids, length) = (bytes.u32()?, bytes.u32()? as usize);
            let name = kind_of(Bytes::padded(bytes.take(length)?));
            for _ in 0..ids {
                names.push((name.clone(), bytes.u64()?));
            }
        }
        Some(())
    };
    let _ = read();
    names
}
