//! Between vectors and Arrow columns: one function a direction and type, so that a table's own file
//! says only which column holds what.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int32Array,
    Int64Array, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use rustc_hash::FxHashMap;

use crate::Error;

/// A required column.
pub fn required(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, false)
}

/// A column that may be null.
pub fn nullable(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

/// The type of a column of texts that repeat.
pub fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// A schema of these columns.
pub fn schema(fields: impl IntoIterator<Item = Field>) -> SchemaRef {
    Arc::new(Schema::new(fields.into_iter().collect::<Vec<_>>()))
}

/// A batch of these columns, which must be as the schema says.
///
/// # Errors
/// When their number, lengths or types are others: a mistake of the caller, told with the table's
/// path.
pub fn batch(
    path: &Path,
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
) -> Result<RecordBatch, Error> {
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| Error::malformed(path, error))
}

/// A column of `i64`, null where `None`.
pub fn int64(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

/// A column of `i32`, null where `None`.
pub fn int32(values: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int32Array>())
}

/// A column of `i8`.
pub fn int8(values: impl IntoIterator<Item = i8>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<Int8Array>())
}

/// A column of `f64`, null where `None`.
pub fn float64(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Float64Array>())
}

/// A column of truth values.
pub fn boolean(values: impl IntoIterator<Item = bool>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<BooleanArray>())
}

/// A column of texts, null where `None`.
pub fn text<S: AsRef<str>>(values: impl IntoIterator<Item = Option<S>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

/// A dictionary column of texts, null where `None`.
pub fn texts<S: AsRef<str>>(values: impl IntoIterator<Item = Option<S>>) -> ArrayRef {
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
    keyed(Int32Array::from(keys), StringArray::from(distinct))
}

/// A dictionary column of `texts`, of which every key must be an index.
pub fn keyed(keys: Int32Array, texts: StringArray) -> ArrayRef {
    // With such keys the constructor has nothing to object to; with others there are too few rows
    // for any batch.
    match DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts)) {
        Ok(array) => Arc::new(array),
        Err(_) => text::<&str>([]),
    }
}

/// `batch`, which was read from `path`, with the texts of these columns as `call` calls them;
/// others stay.
///
/// # Errors
/// When there is no such column, or it has no texts.
pub fn renamed(
    path: &Path,
    batch: RecordBatch,
    columns: &[&str],
    call: impl Fn(&str) -> Option<String>,
) -> Result<RecordBatch, Error> {
    let table = Columns::new(path, &batch);
    let mut arrays = batch.columns().to_vec();
    let called = |texts: &StringArray| -> ArrayRef {
        let names =
            texts.iter().map(|text| text.map(|text| call(text).unwrap_or_else(|| text.to_owned())));
        Arc::new(names.collect::<StringArray>())
    };
    for name in columns {
        let wrong = || table.mistyped(name, "Utf8");
        let array = table.column(name)?;
        // In a dictionary each text is looked up once, however many rows have it.
        let other = match (array.as_dictionary_opt::<Int32Type>(), array.as_string_opt::<i32>()) {
            (Some(dictionary), _) => {
                let texts = dictionary.values().as_string_opt::<i32>().ok_or_else(wrong)?;
                Arc::new(dictionary.with_values(called(texts)))
            }
            (None, Some(texts)) => called(texts),
            (None, None) => return Err(wrong()),
        };
        let place = batch.schema().index_of(name).map_err(|error| Error::malformed(path, error))?;
        arrays[place] = other;
    }
    self::batch(path, &batch.schema(), arrays)
}

/// The columns of one batch, by name; the errors tell the file and the column.
pub struct Columns<'batch> {
    path: PathBuf,
    batch: &'batch RecordBatch,
}

impl<'batch> Columns<'batch> {
    /// The columns of `batch`, which was read from `path`.
    pub fn new(path: &Path, batch: &'batch RecordBatch) -> Columns<'batch> {
        Columns { path: path.to_owned(), batch }
    }

    /// The error that `what` is wrong with the table.
    pub fn malformed(&self, what: String) -> Error {
        Error::malformed(&self.path, what)
    }

    fn column(&self, name: &str) -> Result<&'batch ArrayRef, Error> {
        let missing = || Error::malformed(&self.path, format!("it has no column '{name}'"));
        self.batch.column_by_name(name).ok_or_else(missing)
    }

    fn mistyped(&self, name: &str, wanted: &str) -> Error {
        Error::malformed(&self.path, format!("its column '{name}' is not of type {wanted}"))
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Vec<Option<T::Native>>, Error> {
        Ok(self.primitive_array::<T>(name)?.iter().collect())
    }

    fn primitive_array<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<&'batch PrimitiveArray<T>, Error> {
        let mistyped = || self.mistyped(name, &T::DATA_TYPE.to_string());
        self.column(name)?.as_primitive_opt::<T>().ok_or_else(mistyped)
    }

    /// Appends a column of numbers to `values`, with `null` where it has none.
    ///
    /// # Errors
    /// When there is no such column, it is of another type, or a value is missing and `null` is
    /// none.
    pub(crate) fn append<T: ArrowPrimitiveType>(
        &self,
        name: &str,
        null: Option<T::Native>,
        values: &mut Vec<T::Native>,
    ) -> Result<(), Error> {
        let array = self.primitive_array::<T>(name)?;
        if array.null_count() == 0 {
            values.extend_from_slice(array.values());
            return Ok(());
        }
        let null = self.some(name, null)?;
        values.extend(array.iter().map(|value| value.unwrap_or(null)));
        Ok(())
    }

    /// A column of `i64`.
    ///
    /// # Errors
    /// When it is missing or of another type, as for all the readers here.
    pub fn int64(&self, name: &str) -> Result<Vec<Option<i64>>, Error> {
        self.primitive::<Int64Type>(name)
    }

    /// A column of `i64` that tables of older versions are without; `None` also where no row has a
    /// value.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn int64_if_any(&self, name: &str) -> Result<Option<Vec<Option<i64>>>, Error> {
        if self.has_values(name) { self.int64(name).map(Some) } else { Ok(None) }
    }

    /// A column of `i32` that tables of older versions are without; `None` also where no row has a
    /// value.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn int32_if_any(&self, name: &str) -> Result<Option<Vec<Option<i32>>>, Error> {
        if self.has_values(name) { self.int32(name).map(Some) } else { Ok(None) }
    }

    /// A column of texts that tables of older versions are without; `None` also where no row has a
    /// value.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn texts_if_any(&self, name: &str) -> Result<Option<Vec<Option<&str>>>, Error> {
        if self.has_values(name) { self.texts(name).map(Some) } else { Ok(None) }
    }

    /// Whether there is such a column, and a row has a value in it.
    fn has_values(&self, name: &str) -> bool {
        self.batch.column_by_name(name).is_some_and(|array| array.null_count() < array.len())
    }

    /// A column of `i32`.
    ///
    /// # Errors
    /// As for [`Columns::int64`].
    pub fn int32(&self, name: &str) -> Result<Vec<Option<i32>>, Error> {
        self.primitive::<Int32Type>(name)
    }

    /// A column of `i8`.
    ///
    /// # Errors
    /// As for [`Columns::int64`].
    pub fn int8(&self, name: &str) -> Result<Vec<Option<i8>>, Error> {
        self.primitive::<Int8Type>(name)
    }

    /// A column of `f64`.
    ///
    /// # Errors
    /// As for [`Columns::int64`].
    pub fn float64(&self, name: &str) -> Result<Vec<Option<f64>>, Error> {
        self.primitive::<Float64Type>(name)
    }

    /// A column of truth values, false where null.
    ///
    /// # Errors
    /// As for [`Columns::int64`].
    pub fn boolean(&self, name: &str) -> Result<Vec<bool>, Error> {
        let array =
            self.column(name)?.as_boolean_opt().ok_or_else(|| self.mistyped(name, "Boolean"))?;
        Ok(array.iter().map(|value| value.unwrap_or(false)).collect())
    }

    /// A column of texts, dictionary-encoded or plain.
    ///
    /// # Errors
    /// As for [`Columns::int64`].
    pub fn texts(&self, name: &str) -> Result<Vec<Option<&'batch str>>, Error> {
        let array = self.column(name)?;
        if let Some(array) = array.as_string_opt::<i32>() {
            return Ok(array.iter().collect());
        }
        let wrong = || self.mistyped(name, "Utf8");
        let dictionary = array.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
        let values = dictionary.values().as_string_opt::<i32>().ok_or_else(wrong)?;
        let keys = dictionary.keys();
        Ok((0..keys.len())
            .map(|row| (!keys.is_null(row)).then(|| values.value(keys.value(row) as usize)))
            .collect())
    }

    /// A column of texts as what each row has, a number, and what the numbers stand for. What
    /// repeats has one number where the column is dictionary-encoded.
    ///
    /// # Errors
    /// As for [`Columns::int64`].
    pub fn numbered_texts(
        &self,
        name: &str,
    ) -> Result<(Vec<Option<u32>>, Vec<&'batch str>), Error> {
        let array = self.column(name)?;
        let wrong = || self.mistyped(name, "Utf8");
        let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() else {
            let texts = array.as_string_opt::<i32>().ok_or_else(wrong)?;
            let numbers = (0..).zip(texts).map(|(number, text)| text.map(|_| number)).collect();
            return Ok((numbers, texts.iter().map(Option::unwrap_or_default).collect()));
        };
        let values = dictionary.values().as_string_opt::<i32>().ok_or_else(wrong)?;
        let numbers = dictionary
            .keys()
            .iter()
            .map(|key| key.and_then(|key| u32::try_from(key).ok()))
            .collect();
        Ok((numbers, values.iter().map(Option::unwrap_or_default).collect()))
    }

    /// The same of a column that was not asked for: no row has a value in it.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn numbered_texts_if_any(
        &self,
        name: &str,
    ) -> Result<(Vec<Option<u32>>, Vec<&'batch str>), Error> {
        match self.batch.column_by_name(name) {
            Some(_) => self.numbered_texts(name),
            None => Ok((vec![None; self.batch.num_rows()], Vec::new())),
        }
    }

    /// A value that may not be null.
    ///
    /// # Errors
    /// When it is.
    pub fn some<T>(&self, name: &str, value: Option<T>) -> Result<T, Error> {
        value.ok_or_else(|| Error::malformed(&self.path, format!("its column '{name}' has a null")))
    }
}
