//! HPACK (RFC 7541): header fields of one direction of an HTTP/2 connection.
//!
//! Only values that name a request are kept, so neither cookies nor credentials are ever in memory
//! here. After missing bytes the dynamic table is forgotten: indexes count from the newest entry,
//! so later entries have certain indexes and earlier ones are unknown. A field with an unknown
//! index is left out, never guessed.

mod fields;
mod huffman;
mod integers;
mod value;

use std::collections::VecDeque;

pub(super) use fields::HeaderField;
pub(super) use value::HeaderValue;

use crate::tuning::{HEADER_VALUE_BYTES, HPACK_ENTRIES, HPACK_VALUE_BYTES};
use fields::STATIC;
use value::BrokenBlock;

/// Size of an entry in bytes in addition to its name and value (4.1).
const ENTRY_OVERHEAD: usize = 32;

/// Table size in bytes until the encoder changes it.
const DEFAULT_TABLE_BYTES: usize = 4096;

/// Decoder of one direction.
#[derive(Debug)]
pub(super) struct HpackDecoder {
    /// Entries, the newest first.
    table: VecDeque<HpackEntry>,
    /// Size of the table in bytes, as counted by RFC 7541.
    size: usize,
    /// Size of the kept values, in bytes.
    kept_bytes: usize,
    /// Maximum of `size`, as the encoder set it.
    limit: usize,
    /// Whether there may be older entries after those of `table`.
    incomplete: bool,
}

#[derive(Clone, Debug)]
struct HpackEntry {
    /// `None` if the name's index was not known.
    field: Option<HeaderField>,
    name_length: usize,
    value: HeaderValue,
}

impl Default for HpackDecoder {
    fn default() -> Self {
        let table = VecDeque::new();
        HpackDecoder {
            table,
            size: 0,
            kept_bytes: 0,
            limit: DEFAULT_TABLE_BYTES,
            incomplete: false,
        }
    }
}

impl HpackDecoder {
    /// Forgets the table after missing bytes.
    pub(super) fn forget_table(&mut self) {
        (self.size, self.kept_bytes, self.incomplete) = (0, 0, true);
        self.table = VecDeque::new();
    }

    /// Decodes a block and passes each known field to `each`.
    ///
    /// # Errors
    /// When the block is broken: the fields before the error were passed, and the table is
    /// forgotten.
    pub(super) fn decode_block(
        &mut self,
        block: &[u8],
        mut each: impl FnMut(HeaderField, &HeaderValue),
    ) -> Result<(), BrokenBlock> {
        let mut rest = block;
        while !rest.is_empty() {
            match self.decode_field(&mut rest, &mut each) {
                Ok(()) => {}
                Err(BrokenBlock) => {
                    self.forget_table();
                    return Err(BrokenBlock);
                }
            }
        }
        Ok(())
    }

    fn decode_field(
        &mut self,
        rest: &mut &[u8],
        each: &mut impl FnMut(HeaderField, &HeaderValue),
    ) -> Result<(), BrokenBlock> {
        let first = *rest.first().ok_or(BrokenBlock)?;
        if first & 0x80 != 0 {
            // Indexed field (6.1).
            let index = integers::read_integer(rest, 7)?;
            if let Some(HpackEntry { field: Some(field), value, .. }) = self.entry_at(index)? {
                each(field, &value);
            }
            return Ok(());
        }
        if first & 0xe0 == 0x20 {
            // Table size update (6.3).
            self.limit = integers::read_integer(rest, 5)?;
            self.evict_entries();
            return Ok(());
        }
        // Literal field: with indexing (6.2.1), without (6.2.2), or never indexed (6.2.3).
        let indexing = first & 0x40 != 0;
        let (field, name_length) = match integers::read_integer(rest, if indexing { 6 } else { 4 })?
        {
            0 => {
                let name = integers::read_string(rest, fields::MAX_NAME_BYTES)?;
                let field = name.whole_value().map_or(HeaderField::Other, HeaderField::from_name);
                (Some(field), name.length)
            }
            index => self.entry_at(index)?.map_or((None, 0), |of| (of.field, of.name_length)),
        };
        let wanted = field.is_some_and(|field| field != HeaderField::Other);
        let value = integers::read_string(rest, if wanted { HEADER_VALUE_BYTES } else { 0 })?;
        if let Some(field) = field {
            each(field, &value);
        }
        if indexing {
            self.insert_entry(HpackEntry { field, name_length, value });
        }
        Ok(())
    }

    /// Finds the entry of an index; `None` if it is not known.
    fn entry_at(&self, index: usize) -> Result<Option<HpackEntry>, BrokenBlock> {
        let position = index.checked_sub(1).ok_or(BrokenBlock)?;
        if let Some((name, value)) = STATIC.get(position) {
            let field = HeaderField::from_name(name.as_bytes());
            let bytes =
                if field == HeaderField::Other { Vec::new() } else { value.as_bytes().to_vec() };
            let value = HeaderValue { bytes, length: value.len() };
            return Ok(Some(HpackEntry { field: Some(field), name_length: name.len(), value }));
        }
        match self.table.get(position - STATIC.len()) {
            Some(entry) => Ok(Some(entry.clone())),
            None if self.incomplete => Ok(None),
            None => Err(BrokenBlock),
        }
    }

    fn insert_entry(&mut self, entry: HpackEntry) {
        self.size += entry.size();
        self.kept_bytes += entry.value.bytes.len();
        self.table.push_front(entry);
        self.evict_entries();
    }

    /// Evicts the oldest entries beyond the table size, or beyond our own bounds.
    fn evict_entries(&mut self) {
        loop {
            let exceeds_bounds =
                self.table.len() > HPACK_ENTRIES || self.kept_bytes > HPACK_VALUE_BYTES;
            if self.size <= self.limit && !exceeds_bounds {
                return;
            }
            let Some(oldest) = self.table.pop_back() else { return };
            // Values that the library blanked may have had another length.
            self.incomplete = true;
            self.size -= oldest.size();
            self.kept_bytes -= oldest.value.bytes.len();
        }
    }
}

impl HpackEntry {
    fn size(&self) -> usize {
        self.name_length.saturating_add(self.value.length).saturating_add(ENTRY_OVERHEAD)
    }
}

#[cfg(test)]
#[path = "hpack_tests.rs"]
mod tests;
