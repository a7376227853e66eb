//! Cells of a record batch, row by row, as formats of rows want them: of each type that our tables
//! have, and no other.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array,
    ListArray, MapArray, StringArray,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::PathError;

/// A column of one batch by its type.
pub(super) enum Cells<'batch> {
    Boolean(&'batch BooleanArray),
    Int8(&'batch Int8Array),
    Int32(&'batch Int32Array),
    Int64(&'batch Int64Array),
    Float32(&'batch Float32Array),
    Float64(&'batch Float64Array),
    Text(&'batch StringArray),
    Keyed { keys: &'batch Int32Array, texts: &'batch StringArray },
    List { lists: &'batch ListArray, items: Box<Cells<'batch>> },
    Named { maps: &'batch MapArray, names: &'batch StringArray, values: &'batch StringArray },
}

impl<'batch> Cells<'batch> {
    /// The cells of `array`, the column `name` of what is written to `path`.
    ///
    /// # Errors
    /// When the column is of a type that no table of ours has.
    pub(super) fn new(
        path: &Path,
        name: &str,
        array: &'batch ArrayRef,
    ) -> Result<Cells<'batch>, PathError> {
        if let Some(lists) = array.as_list_opt::<i32>() {
            let items = Box::new(Cells::new(path, name, lists.values())?);
            return Ok(Cells::List { lists, items });
        }
        Cells::plain(array).or_else(|| Cells::of_texts(array)).ok_or_else(|| {
            let kind = array.data_type();
            PathError::malformed(path, format!("its column '{name}' is {kind}, which has no text"))
        })
    }

    fn plain(array: &'batch ArrayRef) -> Option<Cells<'batch>> {
        (array.as_boolean_opt().map(Cells::Boolean))
            .or_else(|| array.as_primitive_opt::<Int8Type>().map(Cells::Int8))
            .or_else(|| array.as_primitive_opt::<Int32Type>().map(Cells::Int32))
            .or_else(|| array.as_primitive_opt::<Int64Type>().map(Cells::Int64))
            .or_else(|| array.as_primitive_opt::<Float32Type>().map(Cells::Float32))
            .or_else(|| array.as_primitive_opt::<Float64Type>().map(Cells::Float64))
            .or_else(|| array.as_string_opt::<i32>().map(Cells::Text))
    }

    fn of_texts(array: &'batch ArrayRef) -> Option<Cells<'batch>> {
        if let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() {
            let texts = dictionary.values().as_string_opt::<i32>()?;
            return Some(Cells::Keyed { keys: dictionary.keys(), texts });
        }
        let maps = array.as_map_opt()?;
        let names = maps.keys().as_string_opt::<i32>()?;
        Some(Cells::Named { maps, names, values: maps.values().as_string_opt::<i32>()? })
    }

    /// The cell of a row, `None` where it is null.
    pub(super) fn cell(&self, row: usize) -> Option<Cell<'_>> {
        Some(match self {
            Cells::Boolean(array) => Cell::Truth(valid(array, row)?.value(row)),
            Cells::Int8(array) => Cell::Integer(valid(array, row)?.value(row).into()),
            Cells::Int32(array) => Cell::Integer(valid(array, row)?.value(row).into()),
            Cells::Int64(array) => Cell::Integer(valid(array, row)?.value(row)),
            Cells::Float32(array) => Cell::Short(valid(array, row)?.value(row)),
            Cells::Float64(array) => Cell::Number(valid(array, row)?.value(row)),
            Cells::Text(array) => Cell::Text(valid(array, row)?.value(row)),
            Cells::Keyed { keys, texts } => {
                let key = usize::try_from(valid(keys, row)?.value(row)).ok()?;
                Cell::Text(valid(texts, key)?.value(key))
            }
            Cells::List { lists, items } => {
                let ends = valid(lists, row)?.value_offsets();
                Cell::List { items, from: place(ends, row)?, to: place(ends, row + 1)? }
            }
            Cells::Named { maps, names, values } => {
                let ends = valid(maps, row)?.value_offsets();
                let (from, to) = (place(ends, row)?, place(ends, row + 1)?);
                Cell::Named { names, values, from, to }
            }
        })
    }
}

/// The array, unless it is null or has ended at `row`.
fn valid<T: Array>(array: &T, row: usize) -> Option<&T> {
    (row < array.len() && array.is_valid(row)).then_some(array)
}

/// Index of an item in the values of a nested column.
fn place(ends: &[i32], row: usize) -> Option<usize> {
    usize::try_from(*ends.get(row)?).ok()
}

/// One cell that is not null; as JSON, what it is there.
pub(super) enum Cell<'batch> {
    Truth(bool),
    Integer(i64),
    Number(f64),
    /// A number of half the digits.
    Short(f32),
    Text(&'batch str),
    List {
        items: &'batch Cells<'batch>,
        from: usize,
        to: usize,
    },
    Named {
        names: &'batch StringArray,
        values: &'batch StringArray,
        from: usize,
        to: usize,
    },
}

impl Cell<'_> {
    /// The word for a number that JSON has none for.
    pub(super) fn not_finite(&self) -> Option<String> {
        match self {
            Cell::Number(value) if !value.is_finite() => Some(value.to_string()),
            Cell::Short(value) if !value.is_finite() => Some(value.to_string()),
            _ => None,
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Cell::Truth(value) => serializer.serialize_bool(value),
            Cell::Integer(value) => serializer.serialize_i64(value),
            Cell::Short(value) => serializer.serialize_f32(value),
            Cell::Number(value) => serializer.serialize_f64(value),
            Cell::Text(value) => serializer.serialize_str(value),
            Cell::List { items, from, to } => {
                serializer.collect_seq((from..to).map(|item| items.cell(item)))
            }
            Cell::Named { names, values, from, to } => {
                let mut object = serializer.serialize_map(None)?;
                for pair in from..to {
                    if let (Some(names), Some(values)) = (valid(names, pair), valid(values, pair)) {
                        object.serialize_entry(names.value(pair), values.value(pair))?;
                    }
                }
                object.end()
            }
        }
    }
}

/// A row as an object of JSON; what is null is left out.
pub(super) struct Row<'batch> {
    pub(super) columns: &'batch [(&'batch str, Cells<'batch>)],
    pub(super) row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.columns.iter();
        let cells = cells.filter_map(|(name, cells)| Some((*name, cells.cell(self.row)?)));
        serializer.collect_map(cells)
    }
}
