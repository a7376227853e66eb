//! Every type of column as CSV and as JSON.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float32Array, ListArray, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::{write_csv, write_json_lines};
use crate::PathError;
use crate::table::columns;

fn write_both(batch: &RecordBatch) -> Result<(String, String), PathError> {
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    let path = Path::new("output");
    write_csv(&batch.schema(), [Ok(batch.clone())], &mut lines, path)?;
    write_json_lines(&batch.schema(), [Ok(batch.clone())], &mut objects, path)?;
    Ok((String::from_utf8(lines).unwrap(), String::from_utf8(objects).unwrap()))
}

fn make_batch(arrays: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(arrays.iter().map(field).collect::<Vec<_>>());
    let arrays = arrays.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

#[test]
fn each_type_has_its_text_and_null_has_none() {
    let lists = [Some(vec![Some(1), None, Some(-3)]), None, Some(vec![])];
    let batch = make_batch(vec![
        ("truth", columns::boolean_array([true, false, true])),
        ("small", columns::int8_array([-1, 0, 127])),
        ("middle", columns::int32_array([Some(7), None, Some(i32::MIN)])),
        ("large", columns::int64_array([None, Some(i64::MAX), Some(0)])),
        ("number", columns::float64_array([Some(0.5), Some(3.0), None])),
        ("short", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::MAX)]))),
        ("text", columns::string_array([Some("a\nb"), Some(""), None])),
        ("word", columns::dictionary_array([Some("\"x\""), None, Some("x")])),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
    ]);
    let (lines, objects) = write_both(&batch).unwrap();
    assert_eq!(
        lines,
        "truth,small,middle,large,number,short,text,word,list\n\
         true,-1,7,,0.5,0.1,\"a\nb\",\"\"\"x\"\"\",\"[1,null,-3]\"\n\
         false,0,,9223372036854775807,3.0,,,,\n\
         true,127,-2147483648,0,,3.4028235e+38,,x,[]\n"
    );
    assert_eq!(
        objects,
        "{\"truth\":true,\"small\":-1,\"middle\":7,\"number\":0.5,\"short\":0.1,\"text\":\"a\\nb\",\
         \"word\":\"\\\"x\\\"\",\"list\":[1,null,-3]}\n\
         {\"truth\":false,\"small\":0,\"large\":9223372036854775807,\"number\":3.0,\"text\":\"\"}\n\
         {\"truth\":true,\"small\":127,\"middle\":-2147483648,\"large\":0,\"short\":3.4028235e+38,\
         \"word\":\"x\",\"list\":[]}\n"
    );
}

#[test]
fn numbers_that_json_cannot_represent() {
    let batch =
        make_batch(vec![("number", columns::float64_array([f64::NAN, f64::INFINITY].map(Some)))]);
    let (lines, objects) = write_both(&batch).unwrap();
    assert_eq!(lines, "number\nNaN\ninf\n");
    assert_eq!(objects, "{\"number\":null}\n{\"number\":null}\n");
}

#[test]
fn a_slice_of_a_table_has_its_own_rows() {
    let lists = [Some(vec![Some(1)]), Some(vec![Some(2), Some(3)])];
    let batch = make_batch(vec![
        ("word", columns::dictionary_array([Some("a"), Some("b")])),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
    ]);
    let (_, objects) = write_both(&batch.slice(1, 1)).unwrap();
    assert_eq!(objects, "{\"word\":\"b\",\"list\":[2,3]}\n");
}

#[test]
fn a_column_of_another_type_is_named() {
    let batch = make_batch(vec![("at", Arc::new(UInt64Array::from(vec![1])))]);
    assert_eq!(batch.column(0).data_type(), &DataType::UInt64);
    let error = write_both(&batch).unwrap_err().to_string();
    assert!(error.contains("column 'at' is UInt64"), "{error}");
}
