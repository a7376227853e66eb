//! Cells of a record batch, row by row, for formats of rows. Only the types that the tables have
//! are supported.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array,
    ListArray, MapArray, StringArray,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::PathError;

/// A column of one batch by its type. `Keyed` is a dictionary column, and `Named` a column of names
/// with values.
pub(super) enum CellColumn<'batch> {
    Boolean(&'batch BooleanArray),
    Int8(&'batch Int8Array),
    Int32(&'batch Int32Array),
    Int64(&'batch Int64Array),
    Float32(&'batch Float32Array),
    Float64(&'batch Float64Array),
    Text(&'batch StringArray),
    Keyed { keys: &'batch Int32Array, texts: &'batch StringArray },
    List { lists: &'batch ListArray, items: Box<CellColumn<'batch>> },
    Named { maps: &'batch MapArray, names: &'batch StringArray, values: &'batch StringArray },
}

impl<'batch> CellColumn<'batch> {
    /// Returns the cells of `array`, the column `name` of the output at `path`.
    ///
    /// # Errors
    /// If the column has a type that none of the tables has.
    pub(super) fn new(
        path: &Path,
        name: &str,
        array: &'batch ArrayRef,
    ) -> Result<CellColumn<'batch>, PathError> {
        if let Some(lists) = array.as_list_opt::<i32>() {
            let items = Box::new(CellColumn::new(path, name, lists.values())?);
            return Ok(CellColumn::List { lists, items });
        }
        CellColumn::plain_cells(array).or_else(|| CellColumn::text_cells(array)).ok_or_else(|| {
            let kind = array.data_type();
            PathError::malformed(path, format!("its column '{name}' is {kind}, which has no text"))
        })
    }

    fn plain_cells(array: &'batch ArrayRef) -> Option<CellColumn<'batch>> {
        (array.as_boolean_opt().map(CellColumn::Boolean))
            .or_else(|| array.as_primitive_opt::<Int8Type>().map(CellColumn::Int8))
            .or_else(|| array.as_primitive_opt::<Int32Type>().map(CellColumn::Int32))
            .or_else(|| array.as_primitive_opt::<Int64Type>().map(CellColumn::Int64))
            .or_else(|| array.as_primitive_opt::<Float32Type>().map(CellColumn::Float32))
            .or_else(|| array.as_primitive_opt::<Float64Type>().map(CellColumn::Float64))
            .or_else(|| array.as_string_opt::<i32>().map(CellColumn::Text))
    }

    fn text_cells(array: &'batch ArrayRef) -> Option<CellColumn<'batch>> {
        if let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() {
            let texts = dictionary.values().as_string_opt::<i32>()?;
            return Some(CellColumn::Keyed { keys: dictionary.keys(), texts });
        }
        let maps = array.as_map_opt()?;
        let names = maps.keys().as_string_opt::<i32>()?;
        Some(CellColumn::Named { maps, names, values: maps.values().as_string_opt::<i32>()? })
    }

    /// Returns the cell of a row; `None` if it is null.
    pub(super) fn cell_at(&self, row: usize) -> Option<TableCell<'_>> {
        Some(match self {
            CellColumn::Boolean(array) => TableCell::Truth(valid_array(array, row)?.value(row)),
            CellColumn::Int8(array) => {
                TableCell::Integer(valid_array(array, row)?.value(row).into())
            }
            CellColumn::Int32(array) => {
                TableCell::Integer(valid_array(array, row)?.value(row).into())
            }
            CellColumn::Int64(array) => TableCell::Integer(valid_array(array, row)?.value(row)),
            CellColumn::Float32(array) => TableCell::Short(valid_array(array, row)?.value(row)),
            CellColumn::Float64(array) => TableCell::Number(valid_array(array, row)?.value(row)),
            CellColumn::Text(array) => TableCell::Text(valid_array(array, row)?.value(row)),
            CellColumn::Keyed { keys, texts } => {
                let key = usize::try_from(valid_array(keys, row)?.value(row)).ok()?;
                TableCell::Text(valid_array(texts, key)?.value(key))
            }
            CellColumn::List { lists, items } => {
                let ends = valid_array(lists, row)?.value_offsets();
                TableCell::List {
                    items,
                    from: item_index(ends, row)?,
                    to: item_index(ends, row + 1)?,
                }
            }
            CellColumn::Named { maps, names, values } => {
                let ends = valid_array(maps, row)?.value_offsets();
                let (from, to) = (item_index(ends, row)?, item_index(ends, row + 1)?);
                TableCell::Named { names, values, from, to }
            }
        })
    }
}

/// Returns `array` if it has a value at `row`; `None` if the value is null or there is no such row.
fn valid_array<T: Array>(array: &T, row: usize) -> Option<&T> {
    (row < array.len() && array.is_valid(row)).then_some(array)
}

/// Returns the index of an item in the values of a nested column.
fn item_index(ends: &[i32], row: usize) -> Option<usize> {
    usize::try_from(*ends.get(row)?).ok()
}

/// One cell that is not null; it serializes to its JSON form.
pub(super) enum TableCell<'batch> {
    Truth(bool),
    Integer(i64),
    Number(f64),
    /// A number of single precision.
    Short(f32),
    Text(&'batch str),
    List {
        items: &'batch CellColumn<'batch>,
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

impl TableCell<'_> {
    /// Returns the text of a number that JSON cannot represent, such as `NaN`; `None` for any other
    /// cell.
    pub(super) fn not_finite(&self) -> Option<String> {
        match self {
            TableCell::Number(value) if !value.is_finite() => Some(value.to_string()),
            TableCell::Short(value) if !value.is_finite() => Some(value.to_string()),
            _ => None,
        }
    }
}

impl Serialize for TableCell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            TableCell::Truth(value) => serializer.serialize_bool(value),
            TableCell::Integer(value) => serializer.serialize_i64(value),
            TableCell::Short(value) => serializer.serialize_f32(value),
            TableCell::Number(value) => serializer.serialize_f64(value),
            TableCell::Text(value) => serializer.serialize_str(value),
            TableCell::List { items, from, to } => {
                serializer.collect_seq((from..to).map(|item| items.cell_at(item)))
            }
            TableCell::Named { names, values, from, to } => {
                let mut object = serializer.serialize_map(None)?;
                for pair in from..to {
                    if let (Some(names), Some(values)) =
                        (valid_array(names, pair), valid_array(values, pair))
                    {
                        object.serialize_entry(names.value(pair), values.value(pair))?;
                    }
                }
                object.end()
            }
        }
    }
}

/// A row as a JSON object; nulls are omitted.
pub(super) struct JsonRow<'batch> {
    pub(super) columns: &'batch [(&'batch str, CellColumn<'batch>)],
    pub(super) row: usize,
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.columns.iter();
        let cells = cells.filter_map(|(name, cells)| Some((*name, cells.cell_at(self.row)?)));
        serializer.collect_map(cells)
    }
}
