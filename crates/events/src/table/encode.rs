//! Pieces of events to columns.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};
use message_trace::PathError;
use message_trace::table::columns::{batch, int32, keyed};
use out_of_core::{NameId, Names};
use rustc_hash::FxHashMap;

use super::attribute_names::NameLists;
use super::schema;
use crate::event::Event;
use crate::piece::Piece;
use crate::value::Value;

/// Places of different texts, each once.
#[derive(Debug, Default)]
struct Once<'piece> {
    places: FxHashMap<&'piece str, i32>,
    texts: Vec<&'piece str>,
}

impl<'piece> Once<'piece> {
    fn place(&mut self, text: &'piece str) -> i32 {
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() as i32 - 1
        })
    }
}

/// Names of values of one type, their places by event, and where each event's values end.
#[derive(Debug, Default)]
struct OneType {
    lists: NameLists,
    keys: Vec<Option<i32>>,
    ends: Vec<i32>,
    of_event: Vec<NameId>,
}

impl OneType {
    fn new(events: usize) -> OneType {
        let mut ends = Vec::with_capacity(events + 1);
        ends.push(0);
        OneType { ends, keys: Vec::with_capacity(events), ..OneType::default() }
    }

    fn end_event(&mut self, names: &Names) {
        self.keys.push(self.lists.place(&self.of_event, names));
        self.ends.push(self.ends.last().copied().unwrap_or(0) + self.of_event.len() as i32);
        self.of_event.clear();
    }

    /// The column of names.
    fn names(&mut self) -> ArrayRef {
        let keys = Int32Array::from(std::mem::take(&mut self.keys));
        keyed(keys, StringArray::from_iter_values(self.lists.texts()))
    }

    /// The column of lists of `values`.
    fn list(self, kind: DataType, values: ArrayRef, path: &Path) -> Result<ArrayRef, PathError> {
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        let list = ListArray::try_new(schema::item(kind), ends, values, None);
        Ok(Arc::new(list.map_err(|error| PathError::malformed(path, error))?))
    }
}

/// The columns of the events of a piece at `places`, whose names are in `names`.
///
/// # Errors
/// Never, unless the columns do not fit `columns`: a mistake of this file.
pub(super) fn encode(
    piece: &Piece,
    places: &[usize],
    names: &Names,
    columns: &SchemaRef,
    path: impl AsRef<Path>,
) -> Result<RecordBatch, PathError> {
    let path = path.as_ref();
    let events: Vec<Event> = places.iter().map(|place| piece.event(*place)).collect();
    let [mut ints, mut reals, mut texts] = [(); 3].map(|()| OneType::new(events.len()));
    let (mut int_values, mut real_values) = (Vec::new(), Vec::new());
    let (mut once, mut text_keys) = (Once::default(), Vec::new());
    for place in places {
        for (name, value) in piece.attributes(*place) {
            match value {
                Value::Int(number) => {
                    ints.of_event.push(name);
                    int_values.push(number);
                }
                Value::Real(number) => {
                    reals.of_event.push(name);
                    real_values.push(number);
                }
                Value::Text(text) => {
                    texts.of_event.push(name);
                    text_keys.push(once.place(text));
                }
            }
        }
        for one in [&mut ints, &mut reals, &mut texts] {
            one.end_event(names);
        }
    }
    let text_values = keyed(Int32Array::from(text_keys), StringArray::from(once.texts));
    let text_kind = text_values.data_type().clone();
    let arrays = vec![
        Arc::new(events.iter().map(|event| event.time).collect::<Int64Array>()),
        numbered(events.iter().map(|event| event.host), names),
        int32(events.iter().map(|event| known(event.processor, Event::NO_PROCESSOR))),
        int32(events.iter().map(|event| known(event.process, 0))),
        int32(events.iter().map(|event| known(event.thread, 0))),
        required(events.iter().map(|event| event.kind), names),
        ints.names(),
        ints.list(DataType::Int64, Arc::new(Int64Array::from(int_values)), path)?,
        reals.names(),
        reals.list(DataType::Float64, Arc::new(Float64Array::from(real_values)), path)?,
        texts.names(),
        texts.list(text_kind, text_values, path)?,
    ];
    batch(path, columns, arrays)
}

fn known(value: i32, unknown: i32) -> Option<i32> {
    (value != unknown).then_some(value)
}

/// A dictionary column of names; the unknown one is null.
fn numbered(numbers: impl Iterator<Item = NameId>, names: &Names) -> ArrayRef {
    dictionary(numbers.map(|number| (number != Names::UNKNOWN).then_some(number)), names)
}

/// A dictionary column of names; the unknown one is an empty text.
fn required(numbers: impl Iterator<Item = NameId>, names: &Names) -> ArrayRef {
    dictionary(numbers.map(Some), names)
}

fn dictionary(numbers: impl Iterator<Item = Option<NameId>>, names: &Names) -> ArrayRef {
    let mut places: FxHashMap<NameId, i32> = FxHashMap::default();
    let mut distinct: Vec<&str> = Vec::new();
    let keys = numbers.map(|number| {
        number.map(|number| {
            *places.entry(number).or_insert_with(|| {
                distinct.push(names.text(number));
                distinct.len() as i32 - 1
            })
        })
    });
    let keys: Int32Array = keys.collect();
    keyed(keys, StringArray::from(distinct))
}
