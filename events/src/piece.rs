//! Piece: events of a stream that are in memory together, as columns.

use out_of_core::NameId;

use crate::event::Event;
use crate::value::Value;

/// Events of a stream that are in memory together. Names are numbers of one
/// [`Names`](out_of_core::Names) for the whole stream.
#[derive(Clone, Debug, Default)]
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
#[derive(Clone, Copy, Debug)]
enum Stored {
    Int(i64),
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
            let stored = match value {
                Value::Int(number) => Stored::Int(number),
                Value::Real(number) => Stored::Real(number),
                Value::Text(text) => {
                    let begin = self.texts.len() as u32;
                    self.texts.push_str(text);
                    Stored::Text(begin, self.texts.len() as u32)
                }
            };
            self.attributes.push((name, stored));
        }
        self.ends.push(self.attributes.len() as u32);
        self.events.push(event);
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
        let end = |place: usize| self.ends.get(place).map_or(0, |end| *end as usize);
        let begin = place.checked_sub(1).map_or(0, end);
        let of = self.attributes.get(begin..end(place)).unwrap_or_default();
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

    fn value_of(&self, stored: Stored) -> Value<'_> {
        match stored {
            Stored::Int(number) => Value::Int(number),
            Stored::Real(number) => Value::Real(number),
            Stored::Text(begin, end) => {
                Value::Text(self.texts.get(begin as usize..end as usize).unwrap_or_default())
            }
        }
    }
}
