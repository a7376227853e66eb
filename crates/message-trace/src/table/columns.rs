//! Conversion between vectors and Arrow columns: one function for each direction and type, so that
//! the file of a table only states which column contains what. This file makes columns,
//! [`BatchColumns`] reads them.

mod read;

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array,
    RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use rustc_hash::FxHashMap;

use crate::PathError;
pub use read::{BatchColumns, NamedTexts};

/// Makes the field of a required column.
pub fn required_field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, false)
}

/// Makes the field of a column that may be null.
pub fn nullable_field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

/// Returns the type of a column of texts that repeat.
pub fn dictionary_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Returns the type of a column of names with values, both texts.
pub fn named_texts_type() -> DataType {
    let [name, value] = [("keys", false), ("values", true)]
        .map(|(name, nullable)| Field::new(name, DataType::Utf8, nullable));
    let pair = DataType::Struct([name, value].into_iter().map(Arc::new).collect());
    DataType::Map(Arc::new(Field::new("entries", pair, false)), false)
}

/// Builds a schema of the columns `fields`.
pub fn build_schema(fields: impl IntoIterator<Item = Field>) -> SchemaRef {
    Arc::new(Schema::new(fields.into_iter().collect::<Vec<_>>()))
}

/// Builds a batch of columns, which must match the schema.
///
/// # Errors
/// If the number, lengths or types of the columns differ from the schema: a mistake of the caller,
/// reported with the table's path.
pub fn build_batch(
    path: impl AsRef<Path>,
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
) -> Result<RecordBatch, PathError> {
    let path = path.as_ref();
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| PathError::malformed(path, error))
}

/// A column of `i64`, null for `None`.
pub fn int64_array(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

/// A column of `i32`, null for `None`.
pub fn int32_array(values: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int32Array>())
}

/// A column of `i8`.
pub fn int8_array(values: impl IntoIterator<Item = i8>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<Int8Array>())
}

/// A column of `f64`, null for `None`.
pub fn float64_array(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Float64Array>())
}

/// A column of booleans.
pub fn boolean_array(values: impl IntoIterator<Item = bool>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<BooleanArray>())
}

/// A column of texts, null for `None`.
pub fn string_array<S: AsRef<str>>(values: impl IntoIterator<Item = Option<S>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

/// A dictionary column of texts, null for `None`.
pub fn dictionary_array<S: AsRef<str>>(values: impl IntoIterator<Item = Option<S>>) -> ArrayRef {
    let mut keys: Vec<Option<i32>> = Vec::new();
    let mut distinct: Vec<String> = Vec::new();
    let mut places: FxHashMap<String, i32> = FxHashMap::default();
    for value in values {
        keys.push(value.map(|value| {
            let value = value.as_ref();
            places.get(value).copied().unwrap_or_else(|| {
                let place = distinct.len() as i32;
                distinct.push(value.to_owned());
                places.insert(value.to_owned(), place);
                place
            })
        }));
    }
    keyed_array(Int32Array::from(keys), StringArray::from(distinct))
}

/// A column of the type [`named_texts_type`]: the names and values of each row.
pub fn named_texts_array<'a, Row: IntoIterator<Item = (&'a str, &'a str)>>(
    path: impl AsRef<Path>,
    rows: impl IntoIterator<Item = Row>,
) -> Result<ArrayRef, PathError> {
    let path = path.as_ref();
    let mut builder = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for row in rows {
        for (name, value) in row {
            builder.keys().append_value(name);
            builder.values().append_value(value);
        }
        builder.append(true).map_err(|error| PathError::malformed(path, error))?;
    }
    Ok(Arc::new(builder.finish()))
}

/// Dictionary column of `texts`; every key must be an index into them.
pub fn keyed_array(keys: Int32Array, texts: StringArray) -> ArrayRef {
    // With such keys the constructor cannot fail; with others the batch gets too few rows.
    match DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts)) {
        Ok(array) => Arc::new(array),
        Err(_) => string_array::<&str>([]),
    }
}

/// Replaces the texts of these columns in `batch`, which was read from `path`, by the results of
/// `rename`; texts with the result `None` stay.
///
/// # Errors
/// If one of the columns does not exist, or has no texts.
pub fn rename_texts(
    path: impl AsRef<Path>,
    batch: RecordBatch,
    columns: &[&str],
    rename: impl Fn(&str) -> Option<String>,
) -> Result<RecordBatch, PathError> {
    let path = path.as_ref();
    let table = BatchColumns::new(path, &batch);
    let mut arrays = batch.columns().to_vec();
    let renamed = |texts: &StringArray| -> ArrayRef {
        let names = texts
            .iter()
            .map(|text| text.map(|text| rename(text).unwrap_or_else(|| text.to_owned())));
        Arc::new(names.collect::<StringArray>())
    };
    for name in columns {
        let wrong = || table.mistyped_error(name, "Utf8");
        let array = table.find_column(name)?;
        // In a dictionary each text is looked up once, however many rows have it.
        let other = match (array.as_dictionary_opt::<Int32Type>(), array.as_string_opt::<i32>()) {
            (Some(dictionary), _) => {
                let texts = dictionary.values().as_string_opt::<i32>().ok_or_else(wrong)?;
                Arc::new(dictionary.with_values(renamed(texts)))
            }
            (None, Some(texts)) => renamed(texts),
            (None, None) => return Err(wrong()),
        };
        let place =
            batch.schema().index_of(name).map_err(|error| PathError::malformed(path, error))?;
        arrays[place] = other;
    }
    self::build_batch(path, &batch.schema(), arrays)
}
