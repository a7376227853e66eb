//! Extraction: of a piece's event, what the schema uses.

use events::{Piece, Value};
use out_of_core::Names;

use crate::join::item::Item;
use crate::join::key;
use crate::join::program::Kind;
use crate::tuning::REQUEST_NAMES;

/// What the schema uses of the event at `place`, which is of that kind.
pub(crate) fn extract(
    piece: &Piece,
    place: usize,
    number: u16,
    kind: &Kind,
    names: &mut Names,
) -> Item {
    let event = piece.event(place);
    let mut item = Item { event, kind: number, ..Item::default() };
    if kind.slots.is_empty() {
        return item;
    }
    for (name, value) in piece.attributes(place) {
        for (number, slot) in (0..).zip(&kind.slots) {
            if slot.name == name {
                let value = match slot.is_name {
                    true => u64::from(named(value, names)),
                    false => key::of_value(value),
                };
                item.set(number, value);
            }
        }
    }
    item
}

/// What a request is called by a value: a text up to its first `?`, as what is behind it in an
/// address differs from request to request.
fn named(value: Value<'_>, names: &mut Names) -> u32 {
    let number;
    let text = match value {
        Value::Text(text) => text.split('?').next().unwrap_or(text),
        Value::Int(of) => {
            number = of.to_string();
            &number
        }
        Value::Real(_) => return Names::UNKNOWN,
    };
    match names.find(text) {
        Some(known) => known,
        None if names.len() < REQUEST_NAMES => names.number(text),
        None => Names::UNKNOWN,
    }
}
