//! Extracted event: an event with the attributes that the schema uses.

use events::Event;

use crate::tuning::MAX_SLOTS;

/// An event with the attributes that the schema uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExtractedEvent {
    /// The event itself.
    pub event: Event,
    /// Kind of the event in the program.
    pub kind: u16,
    /// Bit mask of the slots whose values are present.
    pub present: u8,
    /// The values, by slots of the kind.
    pub values: [u64; MAX_SLOTS],
}

impl ExtractedEvent {
    /// The value in a slot; `None` if the event does not have the attribute.
    pub(crate) fn slot_value(&self, slot: u8) -> Option<u64> {
        let there = self.present & 1u8.checked_shl(u32::from(slot))? != 0;
        self.values.get(usize::from(slot)).copied().filter(|_| there)
    }

    /// Stores a value in a slot.
    pub(crate) fn set_slot(&mut self, slot: u8, value: u64) {
        if let Some(place) = self.values.get_mut(usize::from(slot)) {
            *place = value;
            self.present |= 1 << slot;
        }
    }
}
