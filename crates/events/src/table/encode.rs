//! Encoder from event batches to columns.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};
use message_trace::PathError;
use message_trace::table::columns::{build_batch, int32_array, keyed_array};
use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHashMap;

use super::attribute_names::NameLists;
use super::schema;
use crate::event::Event;
use crate::event_batch::EventBatch;
use crate::value::AttributeValue;

/// Distinct texts, with the index of each.
#[derive(Debug, Default)]
struct TextPlaces<'piece> {
    places: FxHashMap<&'piece str, i32>,
    texts: Vec<&'piece str>,
}

impl<'piece> TextPlaces<'piece> {
    fn place_of_text(&mut self, text: &'piece str) -> i32 {
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() as i32 - 1
        })
    }
}

/// Attribute values of one type: their names, and where the values of each event end.
#[derive(Debug, Default)]
struct TypedColumn {
    lists: NameLists,
    /// For each event, the index of its list of names in `lists`; `None` without values.
    keys: Vec<Option<i32>>,
    /// For each event, the end of its values among all values.
    ends: Vec<i32>,
    /// Names of the values of the event that is being encoded.
    of_event: Vec<NameId>,
}

impl TypedColumn {
    fn new(events: usize) -> TypedColumn {
        let mut ends = Vec::with_capacity(events + 1);
        ends.push(0);
        TypedColumn { ends, keys: Vec::with_capacity(events), ..TypedColumn::default() }
    }

    fn end_event(&mut self, names: &NameInterner) {
        self.keys.push(self.lists.intern_list(&self.of_event, names));
        self.ends.push(self.ends.last().copied().unwrap_or(0) + self.of_event.len() as i32);
        self.of_event.clear();
    }

    /// Builds the column of names.
    fn name_column(&mut self) -> ArrayRef {
        let keys = Int32Array::from(std::mem::take(&mut self.keys));
        keyed_array(keys, StringArray::from_iter_values(self.lists.texts()))
    }

    /// Builds the column of lists of `values`.
    fn list_column(
        self,
        kind: DataType,
        values: ArrayRef,
        path: &Path,
    ) -> Result<ArrayRef, PathError> {
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        let list = ListArray::try_new(schema::list_item(kind), ends, values, None);
        Ok(Arc::new(list.map_err(|error| PathError::malformed(path, error))?))
    }
}

/// Encodes the events of a batch at `places`, with names from `names`, as columns.
///
/// # Errors
/// Fails if the values differ from the schema `columns`, which would be a mistake in this file.
pub(super) fn encode_columns(
    piece: &EventBatch,
    places: &[usize],
    names: &NameInterner,
    columns: &SchemaRef,
    path: impl AsRef<Path>,
) -> Result<RecordBatch, PathError> {
    let path = path.as_ref();
    let events: Vec<Event> = places.iter().map(|place| piece.event_at(*place)).collect();
    let [mut ints, mut reals, mut texts] = [(); 3].map(|()| TypedColumn::new(events.len()));
    let (mut int_values, mut real_values) = (Vec::new(), Vec::new());
    let (mut once, mut text_keys) = (TextPlaces::default(), Vec::new());
    for place in places {
        for (name, value) in piece.attributes_of_event(*place) {
            match value {
                AttributeValue::Int(number) => {
                    ints.of_event.push(name);
                    int_values.push(number);
                }
                AttributeValue::Real(number) => {
                    reals.of_event.push(name);
                    real_values.push(number);
                }
                AttributeValue::Text(text) => {
                    texts.of_event.push(name);
                    text_keys.push(once.place_of_text(text));
                }
            }
        }
        for one in [&mut ints, &mut reals, &mut texts] {
            one.end_event(names);
        }
    }
    let text_values = keyed_array(Int32Array::from(text_keys), StringArray::from(once.texts));
    let text_kind = text_values.data_type().clone();
    let arrays = vec![
        Arc::new(events.iter().map(|event| event.time).collect::<Int64Array>()),
        nullable_names(events.iter().map(|event| event.host), names),
        int32_array(
            events.iter().map(|event| null_if_unknown(event.processor, Event::NO_PROCESSOR)),
        ),
        int32_array(events.iter().map(|event| null_if_unknown(event.process, 0))),
        int32_array(events.iter().map(|event| null_if_unknown(event.thread, 0))),
        required_names(events.iter().map(|event| event.kind), names),
        ints.name_column(),
        ints.list_column(DataType::Int64, Arc::new(Int64Array::from(int_values)), path)?,
        reals.name_column(),
        reals.list_column(DataType::Float64, Arc::new(Float64Array::from(real_values)), path)?,
        texts.name_column(),
        texts.list_column(text_kind, text_values, path)?,
    ];
    build_batch(path, columns, arrays)
}

fn null_if_unknown(value: i32, unknown: i32) -> Option<i32> {
    (value != unknown).then_some(value)
}

/// Dictionary column of names, with null for the unknown name.
fn nullable_names(numbers: impl Iterator<Item = NameId>, names: &NameInterner) -> ArrayRef {
    dictionary_column(
        numbers.map(|number| (number != NameInterner::UNKNOWN).then_some(number)),
        names,
    )
}

/// Dictionary column of names, with an empty text for the unknown name.
fn required_names(numbers: impl Iterator<Item = NameId>, names: &NameInterner) -> ArrayRef {
    dictionary_column(numbers.map(Some), names)
}

fn dictionary_column(
    numbers: impl Iterator<Item = Option<NameId>>,
    names: &NameInterner,
) -> ArrayRef {
    let mut places: FxHashMap<NameId, i32> = FxHashMap::default();
    let mut distinct: Vec<&str> = Vec::new();
    let keys = numbers.map(|number| {
        number.map(|number| {
            *places.entry(number).or_insert_with(|| {
                distinct.push(names.name_of(number));
                distinct.len() as i32 - 1
            })
        })
    });
    let keys: Int32Array = keys.collect();
    keyed_array(keys, StringArray::from(distinct))
}
