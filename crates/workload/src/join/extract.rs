//! Extraction: the attributes of an event that the schema uses.

use events::{AttributeValue, EventBatch};
use out_of_core::{NameId, NameInterner};

use crate::join::extracted_event::ExtractedEvent;
use crate::join::key;
use crate::join::program::CompiledKind;
use crate::tuning::MAX_REQUEST_NAMES;

/// Extracts the attributes that the schema uses from the event at `place`. The event is of the kind
/// `kind`, whose number in the program is `number`.
pub(crate) fn extract_event(
    batch: &EventBatch,
    place: usize,
    number: u16,
    kind: &CompiledKind,
    names: &mut NameInterner,
) -> ExtractedEvent {
    let event = batch.event_at(place);
    let mut item = ExtractedEvent { event, kind: number, ..ExtractedEvent::default() };
    if kind.slots.is_empty() {
        return item;
    }
    for (name, value) in batch.attributes_of_event(place) {
        for (number, slot) in (0..).zip(&kind.slots) {
            if slot.name == name {
                let value = match slot.is_name {
                    true => name_of_value(value, names).index() as u64,
                    false => key::key_of_value(value),
                };
                item.set_slot(number, value);
            }
        }
    }
    item
}

/// The name of a request from the attribute that names it: a text up to its first `?`, as the query
/// of a URL differs from request to request. [`NameInterner::UNKNOWN`] if there are too many names.
fn name_of_value(value: AttributeValue<'_>, names: &mut NameInterner) -> NameId {
    let number;
    let text = match value {
        AttributeValue::Text(text) => text.split('?').next().unwrap_or(text),
        AttributeValue::Int(of) => {
            number = of.to_string();
            &number
        }
        AttributeValue::Real(_) => return NameInterner::UNKNOWN,
    };
    match names.find_id(text) {
        Some(known) => known,
        None if names.len() < MAX_REQUEST_NAMES => names.intern(text),
        None => NameInterner::UNKNOWN,
    }
}
