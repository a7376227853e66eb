//! Piece: events of a stream that are in memory together, as columns.

use std::ops::Range;

use out_of_core::NameId;
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::value::Value;

/// Events of a stream that are in memory together. Names are numbers of one
/// [`Names`](out_of_core::Names) for the whole stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Piece {
    events: Vec<Event>,
    /// Where the attributes of each event end.
    ends: Vec<u32>,
    /// Name and value of each attribute.
    attributes: Vec<(NameId, Stored)>,
    /// Values that are texts, one behind the other.
    texts: String,
}

/// A value as it is stored.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Stored {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Real(f64),
    /// Where the text begins and ends.
    Text(u32, u32),
}

impl Piece {
    /// Adds an event with its attributes.
    pub fn push<'value>(
        &mut self,
        event: Event,
        attributes: impl IntoIterator<Item = (NameId, Value<'value>)>,
    ) {
        for (name, value) in attributes {
            self.attribute(name, value);
        }
        self.end(event);
    }

    /// Adds an attribute of the event that the next call of [`Piece::end`] adds.
    pub fn attribute(&mut self, name: NameId, value: Value<'_>) {
        let stored = match value {
            Value::Int(number) => Stored::Int(number),
            Value::Real(number) => Stored::Real(number),
            Value::Text(text) => self.text(text),
        };
        self.stored(name, stored);
    }

    /// Adds an event, with the attributes since the one before.
    pub fn end(&mut self, event: Event) {
        self.ends.push(self.attributes.len() as u32);
        self.events.push(event);
    }

    /// Takes the attributes since the last event away: there will be no event of them.
    pub fn discard(&mut self) {
        let end = self.ends.last().map_or(0, |end| *end as usize);
        self.attributes.truncate(end);
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether it has no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// All events, in the order in which they came.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The event at that place; an empty one where there is none.
    pub fn event(&self, place: usize) -> Event {
        self.events.get(place).copied().unwrap_or_default()
    }

    /// Attributes of the event at that place.
    pub fn attributes(&self, place: usize) -> impl ExactSizeIterator<Item = (NameId, Value<'_>)> {
        let begin = place.checked_sub(1).map_or(0, |before| self.end_of(before));
        let of = self.attributes.get(begin..self.end_of(place)).unwrap_or_default();
        of.iter().map(|(name, stored)| (*name, self.value_of(*stored)))
    }

    /// The value of an attribute of the event at that place.
    pub fn value(&self, place: usize, name: NameId) -> Option<Value<'_>> {
        self.attributes(place).find(|(of, _)| *of == name).map(|(_, value)| value)
    }

    /// Takes all events away but the room for them.
    pub fn clear(&mut self) {
        self.events.clear();
        self.ends.clear();
        self.attributes.clear();
        self.texts.clear();
    }

    /// Appends the events of `other` that are in `range`, as far as there are such.
    pub fn append(&mut self, other: &Piece, range: Range<usize>) {
        let end = range.end.min(other.len());
        let Some(events) = other.events.get(range.start..end) else { return };
        let begin = range.start.checked_sub(1).map_or(0, |before| other.end_of(before));
        let attributes = other.attributes.get(begin..other.end_of(end.wrapping_sub(1)));
        let shift = self.attributes.len() as u32;
        let ends = other.ends.get(range.start..end).unwrap_or_default();
        self.ends.extend(ends.iter().map(|end| *end - begin as u32 + shift));
        for (name, stored) in attributes.unwrap_or_default() {
            let stored = match *stored {
                Stored::Text(begin, end) => self.text(other.text_of(begin, end)),
                number => number,
            };
            self.attributes.push((*name, stored));
        }
        self.events.extend_from_slice(events);
    }

    /// Size of its events in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.events.as_slice())
            + size_of_val(self.ends.as_slice())
            + size_of_val(self.attributes.as_slice())
            + self.texts.len()
    }

    /// Makes room for that number of further events and attributes.
    pub(crate) fn reserve(&mut self, events: usize, attributes: usize) {
        self.events.reserve(events);
        self.ends.reserve(events);
        self.attributes.reserve(attributes);
    }

    /// Adds a text that an attribute, or several, may have as their value.
    pub(crate) fn text(&mut self, text: &str) -> Stored {
        let begin = self.texts.len() as u32;
        self.texts.push_str(text);
        Stored::Text(begin, self.texts.len() as u32)
    }

    /// Adds an attribute whose value is stored.
    pub(crate) fn stored(&mut self, name: NameId, value: Stored) {
        self.attributes.push((name, value));
    }

    /// Where the attributes of the event at that place end.
    fn end_of(&self, place: usize) -> usize {
        self.ends.get(place).map_or(0, |end| *end as usize)
    }

    fn text_of(&self, begin: u32, end: u32) -> &str {
        self.texts.get(begin as usize..end as usize).unwrap_or_default()
    }

    fn value_of(&self, stored: Stored) -> Value<'_> {
        match stored {
            Stored::Int(number) => Value::Int(number),
            Stored::Real(number) => Value::Real(number),
            Stored::Text(begin, end) => Value::Text(self.text_of(begin, end)),
        }
    }
}
