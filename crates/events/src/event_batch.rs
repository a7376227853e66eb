//! Event batch: events of a stream that are in memory together, as columns.

use std::ops::Range;

use out_of_core::NameId;
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::value::AttributeValue;

/// Events of a stream that are in memory together. Names are numbers of one `NameInterner` for the
/// whole stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventBatch {
    events: Vec<Event>,
    /// End of the attributes of each event, as an index into `attributes`.
    ends: Vec<u32>,
    /// Name and value of each attribute.
    attributes: Vec<(NameId, StoredValue)>,
    /// Text values, concatenated.
    texts: String,
}

/// Value in its stored form.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum StoredValue {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Real(f64),
    /// Begin and end of the text in `texts`.
    Text(u32, u32),
}

impl EventBatch {
    /// Adds an event with its attributes.
    pub fn push_event<'value>(
        &mut self,
        event: Event,
        attributes: impl IntoIterator<Item = (NameId, AttributeValue<'value>)>,
    ) {
        for (name, value) in attributes {
            self.push_attribute(name, value);
        }
        self.end_event(event);
    }

    /// Adds an attribute of the event that the next call of [`EventBatch::end_event`] adds.
    pub fn push_attribute(&mut self, name: NameId, value: AttributeValue<'_>) {
        let stored = match value {
            AttributeValue::Int(number) => StoredValue::Int(number),
            AttributeValue::Real(number) => StoredValue::Real(number),
            AttributeValue::Text(text) => self.store_text(text),
        };
        self.push_stored(name, stored);
    }

    /// Adds an event with the attributes that were pushed since the previous event.
    pub fn end_event(&mut self, event: Event) {
        self.ends.push(self.attributes.len() as u32);
        self.events.push(event);
    }

    /// Discards the attributes that were pushed since the last event: the event that they belong to
    /// is not added.
    pub fn discard_attributes(&mut self) {
        let end = self.ends.last().map_or(0, |end| *end as usize);
        self.attributes.truncate(end);
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether the batch has no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// All events, in the order in which they were added.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the event at `place`, or a default event if there is none.
    pub fn event_at(&self, place: usize) -> Event {
        self.events.get(place).copied().unwrap_or_default()
    }

    /// Attributes of the event at `place`.
    pub fn attributes_of_event(
        &self,
        place: usize,
    ) -> impl ExactSizeIterator<Item = (NameId, AttributeValue<'_>)> {
        let begin = place.checked_sub(1).map_or(0, |before| self.attributes_end(before));
        let of = self.attributes.get(begin..self.attributes_end(place)).unwrap_or_default();
        of.iter().map(|(name, stored)| (*name, self.read_stored(*stored)))
    }

    /// Value of an attribute of the event at `place`.
    pub fn attribute_value(&self, place: usize, name: NameId) -> Option<AttributeValue<'_>> {
        self.attributes_of_event(place).find(|(of, _)| *of == name).map(|(_, value)| value)
    }

    /// Removes all events and keeps the capacity.
    pub fn clear(&mut self) {
        self.events.clear();
        self.ends.clear();
        self.attributes.clear();
        self.texts.clear();
    }

    /// Appends the events of `other` in `range`, as far as they exist.
    pub fn append_range(&mut self, other: &EventBatch, range: Range<usize>) {
        let end = range.end.min(other.len());
        let Some(events) = other.events.get(range.start..end) else { return };
        let begin = range.start.checked_sub(1).map_or(0, |before| other.attributes_end(before));
        let attributes = other.attributes.get(begin..other.attributes_end(end.wrapping_sub(1)));
        let shift = self.attributes.len() as u32;
        let ends = other.ends.get(range.start..end).unwrap_or_default();
        self.ends.extend(ends.iter().map(|end| *end - begin as u32 + shift));
        for (name, stored) in attributes.unwrap_or_default() {
            let stored = match *stored {
                StoredValue::Text(begin, end) => self.store_text(other.stored_text(begin, end)),
                number => number,
            };
            self.attributes.push((*name, stored));
        }
        self.events.extend_from_slice(events);
    }

    /// Size of the events in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.events.as_slice())
            + size_of_val(self.ends.as_slice())
            + size_of_val(self.attributes.as_slice())
            + self.texts.len()
    }

    /// Reserves room for this number of further events and attributes.
    pub(crate) fn reserve(&mut self, events: usize, attributes: usize) {
        self.events.reserve(events);
        self.ends.reserve(events);
        self.attributes.reserve(attributes);
    }

    /// Adds a text that one or several attributes may have as their value.
    pub(crate) fn store_text(&mut self, text: &str) -> StoredValue {
        let begin = self.texts.len() as u32;
        self.texts.push_str(text);
        StoredValue::Text(begin, self.texts.len() as u32)
    }

    /// Adds an attribute with a value that is already stored.
    pub(crate) fn push_stored(&mut self, name: NameId, value: StoredValue) {
        self.attributes.push((name, value));
    }

    /// End of the attributes of the event at `place`.
    fn attributes_end(&self, place: usize) -> usize {
        self.ends.get(place).map_or(0, |end| *end as usize)
    }

    fn stored_text(&self, begin: u32, end: u32) -> &str {
        self.texts.get(begin as usize..end as usize).unwrap_or_default()
    }

    fn read_stored(&self, stored: StoredValue) -> AttributeValue<'_> {
        match stored {
            StoredValue::Int(number) => AttributeValue::Int(number),
            StoredValue::Real(number) => AttributeValue::Real(number),
            StoredValue::Text(begin, end) => AttributeValue::Text(self.stored_text(begin, end)),
        }
    }
}
