//! Reading columns of a record batch by name into vectors; errors name the file and the column.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray};

use crate::PathError;

/// Names and values of the rows of a column.
pub struct NamedTexts<'batch> {
    /// The names of all rows in sequence.
    names: &'batch StringArray,
    /// The value of each name.
    values: &'batch StringArray,
    /// Index of the first name of the first row.
    first: usize,
    /// Index after the last name of each row.
    ends: Vec<usize>,
}

impl<'batch> NamedTexts<'batch> {
    /// Returns the names and values of a row.
    pub fn texts_of_row(
        &self,
        row: usize,
    ) -> impl ExactSizeIterator<Item = (&'batch str, &'batch str)> {
        let begin = match row.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(self.first),
            None => self.first,
        };
        let end = self.ends.get(row).copied().unwrap_or(begin);
        let (names, values) = (self.names, self.values);
        (begin..end).map(move |place| (names.value(place), values.value(place)))
    }
}

/// The columns of one batch, by name; errors name the file and the column.
pub struct BatchColumns<'batch> {
    path: PathBuf,
    batch: &'batch RecordBatch,
}

impl<'batch> BatchColumns<'batch> {
    /// Creates the columns of `batch`, which was read from `path`.
    pub fn new(path: impl AsRef<Path>, batch: &'batch RecordBatch) -> BatchColumns<'batch> {
        let path = path.as_ref();
        BatchColumns { path: path.to_owned(), batch }
    }

    /// Returns the error that `what` is wrong with the table.
    pub fn malformed_error(&self, what: String) -> PathError {
        PathError::malformed(&self.path, what)
    }

    pub(super) fn find_column(&self, name: &str) -> Result<&'batch ArrayRef, PathError> {
        let missing = || PathError::malformed(&self.path, format!("it has no column '{name}'"));
        self.batch.column_by_name(name).ok_or_else(missing)
    }

    pub(super) fn mistyped_error(&self, name: &str, wanted: &str) -> PathError {
        PathError::malformed(&self.path, format!("its column '{name}' is not of type {wanted}"))
    }

    fn primitive_column<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Vec<Option<T::Native>>, PathError> {
        Ok(self.primitive_array::<T>(name)?.iter().collect())
    }

    fn primitive_array<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<&'batch PrimitiveArray<T>, PathError> {
        let mistyped = || self.mistyped_error(name, &T::DATA_TYPE.to_string());
        self.find_column(name)?.as_primitive_opt::<T>().ok_or_else(mistyped)
    }

    /// Appends a column of numbers to `values`, with `null` in place of missing values.
    ///
    /// # Errors
    /// If the column does not exist, it has another type, or a value is missing and `null` is
    /// `None`.
    pub(crate) fn append_column<T: ArrowPrimitiveType>(
        &self,
        name: &str,
        null: Option<T::Native>,
        values: &mut Vec<T::Native>,
    ) -> Result<(), PathError> {
        let array = self.primitive_array::<T>(name)?;
        if array.null_count() == 0 {
            values.extend_from_slice(array.values());
            return Ok(());
        }
        let null = self.required_value(name, null)?;
        values.extend(array.iter().map(|value| value.unwrap_or(null)));
        Ok(())
    }

    /// Reads a column of `i64`.
    ///
    /// # Errors
    /// If the column is missing or has another type.
    pub fn int64_column(&self, name: &str) -> Result<Vec<Option<i64>>, PathError> {
        self.primitive_column::<Int64Type>(name)
    }

    /// Reads a column of `i64` that tables of older versions lack; also returns `None` if no row
    /// has a value.
    ///
    /// # Errors
    /// If the column has another type.
    pub fn int64_if_any(&self, name: &str) -> Result<Option<Vec<Option<i64>>>, PathError> {
        if self.has_values(name) { self.int64_column(name).map(Some) } else { Ok(None) }
    }

    /// Reads a column of `i32` that tables of older versions lack; also returns `None` if no row
    /// has a value.
    ///
    /// # Errors
    /// If the column has another type.
    pub(crate) fn int32_if_any(&self, name: &str) -> Result<Option<Vec<Option<i32>>>, PathError> {
        if self.has_values(name) { self.int32_column(name).map(Some) } else { Ok(None) }
    }

    /// Reads a column of booleans that tables of older versions lack.
    ///
    /// # Errors
    /// If the column has another type.
    pub fn boolean_if_any(&self, name: &str) -> Result<Option<Vec<bool>>, PathError> {
        if self.has_values(name) { self.boolean_column(name).map(Some) } else { Ok(None) }
    }

    /// Reads a column of nullable booleans that some tables lack; also returns `None` if no row has
    /// a value.
    ///
    /// # Errors
    /// If the column has another type.
    pub fn nullable_booleans_if_any(
        &self,
        name: &str,
    ) -> Result<Option<Vec<Option<bool>>>, PathError> {
        if !self.has_values(name) {
            return Ok(None);
        }
        let array = self.find_column(name)?.as_boolean_opt();
        Ok(Some(array.ok_or_else(|| self.mistyped_error(name, "Boolean"))?.iter().collect()))
    }

    /// Reads a column of texts that tables of older versions lack; also returns `None` if no row
    /// has a value.
    ///
    /// # Errors
    /// If the column has another type.
    pub fn texts_if_any(&self, name: &str) -> Result<Option<Vec<Option<&str>>>, PathError> {
        if self.has_values(name) { self.text_column(name).map(Some) } else { Ok(None) }
    }

    /// Returns whether the column `name` exists and a row has a value in it.
    fn has_values(&self, name: &str) -> bool {
        self.batch.column_by_name(name).is_some_and(|array| array.null_count() < array.len())
    }

    /// Reads a column of `i32`.
    ///
    /// # Errors
    /// As for [`BatchColumns::int64_column`].
    pub fn int32_column(&self, name: &str) -> Result<Vec<Option<i32>>, PathError> {
        self.primitive_column::<Int32Type>(name)
    }

    /// Reads a column of `i8`.
    ///
    /// # Errors
    /// As for [`BatchColumns::int64_column`].
    pub fn int8_column(&self, name: &str) -> Result<Vec<Option<i8>>, PathError> {
        self.primitive_column::<Int8Type>(name)
    }

    /// Reads a column of `f64`.
    ///
    /// # Errors
    /// As for [`BatchColumns::int64_column`].
    pub fn float64_column(&self, name: &str) -> Result<Vec<Option<f64>>, PathError> {
        self.primitive_column::<Float64Type>(name)
    }

    /// Reads a column of booleans, false for null.
    ///
    /// # Errors
    /// As for [`BatchColumns::int64_column`].
    pub fn boolean_column(&self, name: &str) -> Result<Vec<bool>, PathError> {
        let array = self
            .find_column(name)?
            .as_boolean_opt()
            .ok_or_else(|| self.mistyped_error(name, "Boolean"))?;
        Ok(array.iter().map(|value| value.unwrap_or(false)).collect())
    }

    /// Reads a column of texts, dictionary-encoded or plain.
    ///
    /// # Errors
    /// As for [`BatchColumns::int64_column`].
    pub fn text_column(&self, name: &str) -> Result<Vec<Option<&'batch str>>, PathError> {
        let array = self.find_column(name)?;
        if let Some(array) = array.as_string_opt::<i32>() {
            return Ok(array.iter().collect());
        }
        let wrong = || self.mistyped_error(name, "Utf8");
        let dictionary = array.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
        let values = dictionary.values().as_string_opt::<i32>().ok_or_else(wrong)?;
        let keys = dictionary.keys();
        Ok((0..keys.len())
            .map(|row| (!keys.is_null(row)).then(|| values.value(keys.value(row) as usize)))
            .collect())
    }

    /// Reads a column of names with values, as `named_texts_array` makes it.
    ///
    /// # Errors
    /// As for [`BatchColumns::int64_column`].
    pub fn named_texts_column(&self, name: &str) -> Result<NamedTexts<'batch>, PathError> {
        let wrong = || self.mistyped_error(name, "Map<Utf8, Utf8>");
        let map = self.find_column(name)?.as_map_opt().ok_or_else(wrong)?;
        let text = |array: &'batch ArrayRef| array.as_string_opt::<i32>().ok_or_else(wrong);
        let (names, values) = (text(map.keys())?, text(map.values())?);
        let ends = map.value_offsets().iter().skip(1).map(|end| *end as usize).collect();
        let first = map.value_offsets().first().map_or(0, |first| *first as usize);
        Ok(NamedTexts { names, values, first, ends })
    }

    /// Reads a column of texts: returns the number of each row's text, and the texts by number.
    /// Repeated texts have one number if the column is dictionary-encoded.
    ///
    /// # Errors
    /// As for [`BatchColumns::int64_column`].
    pub fn numbered_texts(
        &self,
        name: &str,
    ) -> Result<(Vec<Option<u32>>, Vec<&'batch str>), PathError> {
        let array = self.find_column(name)?;
        let wrong = || self.mistyped_error(name, "Utf8");
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

    /// Reads a column of texts as [`BatchColumns::numbered_texts`] does; if the batch does not have
    /// the column, no row has a text.
    ///
    /// # Errors
    /// If the column has another type.
    pub fn numbered_texts_if_any(
        &self,
        name: &str,
    ) -> Result<(Vec<Option<u32>>, Vec<&'batch str>), PathError> {
        match self.batch.column_by_name(name) {
            Some(_) => self.numbered_texts(name),
            None => Ok((vec![None; self.batch.num_rows()], Vec::new())),
        }
    }

    /// Returns a value that may not be null.
    ///
    /// # Errors
    /// If the value is null.
    pub fn required_value<T>(&self, name: &str, value: Option<T>) -> Result<T, PathError> {
        value.ok_or_else(|| {
            PathError::malformed(&self.path, format!("its column '{name}' has a null"))
        })
    }
}
