//! Attributes in JSON: lists of `{"key": ..., "value": {"stringValue": ...}}`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::scalar::{JsonScalar, MemberName};
use crate::spans::attributes::SpanAttributes;
use crate::spans::otlp::any_value::AnyValue;
use crate::spans::scalars::{BoundedList, too_many};
use crate::tuning::MAX_ENTRIES;

/// A list of attributes, or null.
#[derive(Default)]
pub(super) struct AttributeList<'t>(pub(super) SpanAttributes<'t>);

/// A `KeyValue`: the key and the value of an attribute.
struct JsonKeyValue<'t>(Cow<'t, str>, AnyValue<'t>);

impl<'t, 'de: 't> Deserialize<'de> for AttributeList<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AttributeListVisitor;
        impl<'de> Visitor<'de> for AttributeListVisitor {
            type Value = AttributeList<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of attributes")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(AttributeList::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut attributes = SpanAttributes::new();
                while let Some(JsonKeyValue(key, value)) = list.next_element()? {
                    if attributes.len() >= MAX_ENTRIES {
                        return Err(too_many(MAX_ENTRIES));
                    }
                    attributes.push((key, value.into_text()));
                }
                Ok(AttributeList(attributes))
            }
        }
        deserializer.deserialize_any(AttributeListVisitor)
    }
}

impl<'de> Deserialize<'de> for JsonKeyValue<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyValueVisitor;
        impl<'de> Visitor<'de> for KeyValueVisitor {
            type Value = JsonKeyValue<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an attribute")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut member = JsonKeyValue(Cow::Borrowed(""), AnyValue::Empty);
                while let Some(MemberName(key)) = map.next_key()? {
                    match key.as_ref() {
                        "key" => member.0 = map.next_value::<JsonScalar<'de>>()?.into_text(),
                        "value" => member.1 = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(member)
            }
        }
        deserializer.deserialize_map(KeyValueVisitor)
    }
}

impl<'de> Deserialize<'de> for AnyValue<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValueVisitor)
    }
}

/// Reads an `AnyValue`, and the value without its type, which some writers use instead.
struct AnyValueVisitor;

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = AnyValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnyValue<'de>, A::Error> {
        let mut value = AnyValue::Empty;
        while let Some(MemberName(key)) = map.next_key()? {
            value = match key.as_ref() {
                "stringValue" | "string_value" | "bytesValue" | "bytes_value" => {
                    AnyValue::Text(map.next_value::<JsonScalar<'de>>()?.into_text())
                }
                "intValue" | "int_value" => int_value(map.next_value()?),
                "doubleValue" | "double_value" => double_value(map.next_value()?),
                "boolValue" | "bool_value" => scalar_value(map.next_value()?),
                "arrayValue" | "array_value" => {
                    AnyValue::from_list(&map.next_value::<ValueList<AnyValue<'de>>>()?.0)
                }
                "kvlistValue" | "kvlist_value" => {
                    let members = map.next_value::<ValueList<JsonKeyValue<'de>>>()?.0.into_iter();
                    AnyValue::from_map(
                        &members.map(|JsonKeyValue(key, value)| (key, value)).collect::<Vec<_>>(),
                    )
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    value
                }
            };
        }
        Ok(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AnyValue<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            if values.len() >= MAX_ENTRIES {
                return Err(too_many(MAX_ENTRIES));
            }
            values.push(value);
        }
        Ok(AnyValue::from_list(&values))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::Empty)
    }

    fn visit_bool<E>(self, value: bool) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<AnyValue<'de>, E> {
        Ok(scalar_value(JsonScalar::Unsigned(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::Int(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::Double(number))
    }
}

/// Field `values` of a list or a map.
struct ValueList<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ValueList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ValueListVisitor<T> {
            type Value = ValueList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with values")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(ValueList(Vec::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut values = None;
                while let Some(MemberName(key)) = map.next_key()? {
                    match key.as_ref() {
                        "values" => values = map.next_value::<Option<BoundedList<T>>>()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(ValueList(values.map_or_else(Vec::new, |BoundedList(values)| values)))
            }
        }
        deserializer.deserialize_any(ValueListVisitor(PhantomData))
    }
}

/// A number, which is text in protobuf's JSON.
fn int_value(value: JsonScalar<'_>) -> AnyValue<'_> {
    match value {
        JsonScalar::Text(text) => match text.parse() {
            Ok(number) => AnyValue::Int(number),
            Err(_) => AnyValue::Text(text),
        },
        other => scalar_value(other),
    }
}

/// A number with a fraction, or a text for one that JSON cannot represent.
fn double_value(value: JsonScalar<'_>) -> AnyValue<'_> {
    match value {
        JsonScalar::Unsigned(number) => AnyValue::Double(number as f64),
        JsonScalar::Signed(number) => AnyValue::Double(number as f64),
        JsonScalar::Text(text) => match text.parse() {
            Ok(number) => AnyValue::Double(number),
            Err(_) => AnyValue::Text(text),
        },
        other => scalar_value(other),
    }
}

fn scalar_value(value: JsonScalar<'_>) -> AnyValue<'_> {
    match value {
        JsonScalar::Null | JsonScalar::Other => AnyValue::Empty,
        JsonScalar::Text(text) => AnyValue::Text(text),
        JsonScalar::Bool(value) => AnyValue::Bool(value),
        JsonScalar::Unsigned(number) => match i64::try_from(number) {
            Ok(number) => AnyValue::Int(number),
            Err(_) => AnyValue::Text(Cow::Owned(number.to_string())),
        },
        JsonScalar::Signed(number) => AnyValue::Int(number),
        JsonScalar::Float(number) => AnyValue::Double(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        serde_json::from_str::<AnyValue<'_>>(json).unwrap().into_text().into_owned()
    }

    #[test]
    fn every_type_of_value_has_its_text() {
        for (json, expected) in [
            (r#"{"stringValue": "a\u00e9"}"#, "a\u{e9}"),
            (r#"{"string_value": "b"}"#, "b"),
            (r#"{"boolValue": true}"#, "true"),
            (r#"{"intValue": "-12"}"#, "-12"),
            (r#"{"int_value": 12}"#, "12"),
            (r#"{"intValue": "many"}"#, "many"),
            (r#"{"doubleValue": 0.25}"#, "0.25"),
            (r#"{"doubleValue": 3}"#, "3.0"),
            (r#"{"doubleValue": "NaN"}"#, "NaN"),
            (r#"{"bytesValue": "AQI="}"#, "AQI="),
            (
                r#"{"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "x"}, {}]}}"#,
                r#"[1,"x",null]"#,
            ),
            (r#"{"arrayValue": {}}"#, "[]"),
            (
                r#"{"kvlistValue": {"values": [{"key": "k", "value": {"arrayValue": {"values": []}}}]}}"#,
                r#"{"k":[]}"#,
            ),
            (r#"{"kvlist_value": {"values": null}}"#, "{}"),
            ("{}", ""),
            ("null", ""),
            (r#"{"futureValue": {"x": [1]}}"#, ""),
            // Without its type.
            ("\"plain\"", "plain"),
            ("7", "7"),
            ("[1, true]", "[1,true]"),
        ] {
            assert_eq!(text(json), expected, "{json}");
        }
    }

    #[test]
    fn a_list_of_attributes_may_be_null() {
        let list = |json| serde_json::from_str::<AttributeList<'_>>(json).unwrap().0;
        assert_eq!(list("null"), []);
        let json = r#"[{"key": "a", "value": {"intValue": "1"}}, {"value": {"boolValue": false}, "key": "b"}]"#;
        assert_eq!(list(json), [("a".into(), "1".into()), ("b".into(), "false".into())]);
    }
}
