//! HPACK (RFC 7541): header fields of one direction of an HTTP/2 connection.
//!
//! Only what names a request is kept of values, so neither cookies nor credentials are ever in
//! memory here. When bytes are missing, the dynamic table is forgotten: indexes count from the
//! newest entry, so entries that come afterwards have certain indexes, and those before are not
//! known. A field whose index is not known is left out, never guessed.

mod fields;
mod huffman;
mod integers;
mod value;

use std::collections::VecDeque;

pub(super) use fields::Field;
pub(super) use value::Value;

use crate::tuning::{HEADER_VALUE_BYTES, HPACK_ENTRIES, HPACK_VALUE_BYTES};
use fields::STATIC;
use value::Broken;

/// Size of an entry besides its name and value (4.1).
const ENTRY_OVERHEAD: usize = 32;

/// Size of the table that is in force until the encoder says otherwise.
const FIRST_LIMIT: usize = 4096;

/// Decoder of one direction.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The newest first.
    table: VecDeque<Entry>,
    /// Size as RFC 7541 counts it.
    size: usize,
    /// Bytes of values that are kept.
    kept: usize,
    limit: usize,
    /// Whether there may be entries behind those of `table`.
    incomplete: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    /// `None` where the name's index was not known.
    field: Option<Field>,
    name_length: usize,
    value: Value,
}

impl Default for Decoder {
    fn default() -> Self {
        let table = VecDeque::new();
        Decoder { table, size: 0, kept: 0, limit: FIRST_LIMIT, incomplete: false }
    }
}

impl Decoder {
    /// Forgets the table: bytes are missing.
    pub(super) fn forget(&mut self) {
        (self.size, self.kept, self.incomplete) = (0, 0, true);
        self.table = VecDeque::new();
    }

    /// Decodes a block and gives each field that is known to `each`.
    ///
    /// # Errors
    /// When the block is broken: the fields in front of that were given, and the table is
    /// forgotten.
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        mut each: impl FnMut(Field, &Value),
    ) -> Result<(), Broken> {
        let mut rest = block;
        while !rest.is_empty() {
            match self.field(&mut rest, &mut each) {
                Ok(()) => {}
                Err(Broken) => {
                    self.forget();
                    return Err(Broken);
                }
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        rest: &mut &[u8],
        each: &mut impl FnMut(Field, &Value),
    ) -> Result<(), Broken> {
        let first = *rest.first().ok_or(Broken)?;
        if first & 0x80 != 0 {
            // Indexed field (6.1).
            let index = integers::integer(rest, 7)?;
            if let Some(Entry { field: Some(field), value, .. }) = self.at(index)? {
                each(field, &value);
            }
            return Ok(());
        }
        if first & 0xe0 == 0x20 {
            // Size of the table (6.3).
            self.limit = integers::integer(rest, 5)?;
            self.evict();
            return Ok(());
        }
        // Literal field: with indexing (6.2.1), without, never (6.2.2, 6.2.3).
        let indexing = first & 0x40 != 0;
        let (field, name_length) = match integers::integer(rest, if indexing { 6 } else { 4 })? {
            0 => {
                let name = integers::string(rest, fields::LONGEST)?;
                let field = name.whole().map_or(Field::Other, Field::of);
                (Some(field), name.length)
            }
            index => self.at(index)?.map_or((None, 0), |of| (of.field, of.name_length)),
        };
        let wanted = field.is_some_and(|field| field != Field::Other);
        let value = integers::string(rest, if wanted { HEADER_VALUE_BYTES } else { 0 })?;
        if let Some(field) = field {
            each(field, &value);
        }
        if indexing {
            self.insert(Entry { field, name_length, value });
        }
        Ok(())
    }

    /// The entry of an index; `None` where it is not known.
    fn at(&self, index: usize) -> Result<Option<Entry>, Broken> {
        let position = index.checked_sub(1).ok_or(Broken)?;
        if let Some((name, value)) = STATIC.get(position) {
            let field = Field::of(name.as_bytes());
            let bytes = if field == Field::Other { Vec::new() } else { value.as_bytes().to_vec() };
            let value = Value { bytes, length: value.len() };
            return Ok(Some(Entry { field: Some(field), name_length: name.len(), value }));
        }
        match self.table.get(position - STATIC.len()) {
            Some(entry) => Ok(Some(entry.clone())),
            None if self.incomplete => Ok(None),
            None => Err(Broken),
        }
    }

    fn insert(&mut self, entry: Entry) {
        self.size += entry.size();
        self.kept += entry.value.bytes.len();
        self.table.push_front(entry);
        self.evict();
    }

    /// Removes the oldest entries that are too many: by the rules, or for us.
    fn evict(&mut self) {
        loop {
            let ours = self.table.len() > HPACK_ENTRIES || self.kept > HPACK_VALUE_BYTES;
            if self.size <= self.limit && !ours {
                return;
            }
            let Some(oldest) = self.table.pop_back() else { return };
            // Values that the library blanked may have another length than they had.
            self.incomplete = true;
            self.size -= oldest.size();
            self.kept -= oldest.value.bytes.len();
        }
    }
}

impl Entry {
    fn size(&self) -> usize {
        self.name_length.saturating_add(self.value.length).saturating_add(ENTRY_OVERHEAD)
    }
}

#[cfg(test)]
#[path = "hpack_tests.rs"]
mod tests;
