//! Decoder from columns to event batches. Texts that a dictionary stores once are looked up once.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, PrimitiveArray, RecordBatch};
use message_trace::PathError;
use out_of_core::{NameId, NameInterner};

use super::attribute_names::split_names;
use super::schema;
use crate::event::Event;
use crate::event_batch::{EventBatch, StoredValue};

/// Values derived from the texts of a dictionary, for as long as batches share it.
#[derive(Debug)]
struct DictionaryCache<T> {
    /// The dictionary.
    of: Option<ArrayRef>,
    /// The value derived from each of its texts.
    all: Vec<T>,
}

impl<T> Default for DictionaryCache<T> {
    fn default() -> DictionaryCache<T> {
        DictionaryCache { of: None, all: Vec::new() }
    }
}

impl<T> DictionaryCache<T> {
    /// Rebuilds the values if `texts` is another dictionary; `None` if it has no texts.
    fn refresh_texts(&mut self, texts: &ArrayRef, mut make: impl FnMut(&str) -> T) -> Option<()> {
        if self.of.as_ref().is_none_or(|of| !Arc::ptr_eq(of, texts)) {
            self.all.clear();
            let of = texts.as_string_opt::<i32>()?;
            self.all.extend((0..of.len()).map(|place| make(of.value(place))));
            self.of = Some(texts.clone());
        }
        Some(())
    }
}

/// Decoder of consecutive batches of one table.
#[derive(Debug, Default)]
pub(super) struct BatchDecoder {
    hosts: DictionaryCache<NameId>,
    kinds: DictionaryCache<NameId>,
    int_names: DictionaryCache<Vec<NameId>>,
    real_names: DictionaryCache<Vec<NameId>>,
    text_names: DictionaryCache<Vec<NameId>>,
    texts: DictionaryCache<()>,
    /// For each text of the dictionary: where it is stored in the event batch, and the number of
    /// that batch.
    places: Vec<(StoredValue, u64)>,
    /// Number of batches so far.
    batches: u64,
    /// Processors, processes and threads of the batch.
    numbers: [Vec<i32>; 3],
}

/// Attributes of one type of all events of a batch: for each event, the key of its list of names in
/// the dictionary, and where its values begin and end.
struct AttributeLists<'batch> {
    keys: &'batch [i32],
    ends: &'batch [i32],
}

impl AttributeLists<'_> {
    /// Names and places of the values of an event.
    fn list_of_event<'known>(
        &self,
        event: usize,
        names: &'known [Vec<NameId>],
    ) -> Option<(&'known [NameId], std::ops::Range<usize>)> {
        let (begin, end) = (*self.ends.get(event)? as usize, *self.ends.get(event + 1)? as usize);
        if begin == end {
            return Some((&[], begin..end));
        }
        let names = names.get(*self.keys.get(event)? as usize)?.as_slice();
        (names.len() == end.checked_sub(begin)?).then_some((names, begin..end))
    }
}

impl BatchDecoder {
    /// Adds the events of `batch`, which was read from `path`, to `piece`, which must be empty.
    ///
    /// # Errors
    /// When the columns do not form an event table, or do not fit each other.
    pub(super) fn decode_batch(
        &mut self,
        batch: &RecordBatch,
        names: &mut NameInterner,
        piece: &mut EventBatch,
        path: impl AsRef<Path>,
    ) -> Result<(), PathError> {
        let path = path.as_ref();
        self.fill_batch(batch, names, piece).ok_or_else(|| {
            PathError::malformed(path, "the columns of its events do not fit each other")
        })
    }

    fn fill_batch(
        &mut self,
        batch: &RecordBatch,
        names: &mut NameInterner,
        piece: &mut EventBatch,
    ) -> Option<()> {
        self.batches += 1;
        let column = |place: usize| batch.columns().get(place);
        let times = column(schema::TIME)?.as_primitive_opt::<Int64Type>()?.values();
        let numbered = [schema::PROCESSOR, schema::PROCESS, schema::THREAD];
        let unknown = [Event::NO_PROCESSOR, 0, 0];
        for ((place, unknown), numbers) in numbered.into_iter().zip(unknown).zip(&mut self.numbers)
        {
            values_or(column(place)?.as_primitive_opt()?, unknown, numbers);
        }
        let hosts = column(schema::HOST)?.as_dictionary_opt::<Int32Type>()?;
        self.hosts.refresh_texts(hosts.values(), |host| names.intern(host))?;
        let kinds = column(schema::EVENT)?.as_dictionary_opt::<Int32Type>()?;
        self.kinds.refresh_texts(kinds.values(), |kind| names.intern(kind))?;
        let mut lists = |keys: usize, known: &mut DictionaryCache<Vec<NameId>>, ends: usize| {
            let keys = column(keys)?.as_dictionary_opt::<Int32Type>()?;
            known.refresh_texts(keys.values(), |text| split_names(text, names))?;
            let list: &ListArray = column(ends)?.as_list_opt()?;
            Some((
                AttributeLists { keys: keys.keys().values(), ends: list.value_offsets() },
                list.values(),
            ))
        };
        let (ints, int_values) = lists(schema::INT_NAMES, &mut self.int_names, schema::INTS)?;
        let (reals, real_values) = lists(schema::REAL_NAMES, &mut self.real_names, schema::REALS)?;
        let (texts, text_values) = lists(schema::TEXT_NAMES, &mut self.text_names, schema::TEXTS)?;
        let int_values = int_values.as_primitive_opt::<Int64Type>()?.values();
        let real_values = real_values.as_primitive_opt::<Float64Type>()?.values();
        let text_values = text_values.as_dictionary_opt::<Int32Type>()?;
        self.texts.refresh_texts(text_values.values(), |_| ())?;
        let dictionary = text_values.values().as_string_opt::<i32>()?;
        let text_keys = text_values.keys().values();
        self.places.resize(dictionary.len().max(self.places.len()), (StoredValue::Int(0), 0));
        let attributes = int_values.len() + real_values.len() + text_keys.len();
        piece.reserve(times.len(), attributes);
        let [processors, processes, threads] = &self.numbers;
        let (host_keys, kind_keys) = (hosts.keys(), kinds.keys().values());
        for (place, time) in times.iter().enumerate() {
            let (names, values) = ints.list_of_event(place, &self.int_names.all)?;
            for (name, value) in names.iter().zip(int_values.get(values)?) {
                piece.push_stored(*name, StoredValue::Int(*value));
            }
            let (names, values) = reals.list_of_event(place, &self.real_names.all)?;
            for (name, value) in names.iter().zip(real_values.get(values)?) {
                piece.push_stored(*name, StoredValue::Real(*value));
            }
            let (names, values) = texts.list_of_event(place, &self.text_names.all)?;
            for (name, key) in names.iter().zip(text_keys.get(values)?) {
                let known = self.places.get_mut(*key as usize)?;
                if known.1 != self.batches {
                    let text = (*key as usize) < dictionary.len();
                    let text = text.then(|| dictionary.value(*key as usize))?;
                    *known = (piece.store_text(text), self.batches);
                }
                piece.push_stored(*name, known.0);
            }
            let host = if host_keys.is_valid(place) {
                *self.hosts.all.get(*host_keys.values().get(place)? as usize)?
            } else {
                NameInterner::UNKNOWN
            };
            piece.end_event(Event {
                time: *time,
                kind: *self.kinds.all.get(*kind_keys.get(place)? as usize)?,
                host,
                processor: *processors.get(place)?,
                process: *processes.get(place)?,
                thread: *threads.get(place)?,
            });
        }
        Some(())
    }
}

/// The values of a column, with `unknown` for null.
fn values_or(column: &PrimitiveArray<Int32Type>, unknown: i32, into: &mut Vec<i32>) {
    let column: &Int32Array = column;
    into.clear();
    into.extend_from_slice(column.values());
    if column.null_count() > 0 {
        for (place, value) in into.iter_mut().enumerate() {
            if column.is_null(place) {
                *value = unknown;
            }
        }
    }
}
