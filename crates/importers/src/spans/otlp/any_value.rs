//! AnyValue: the value of an attribute, as text. Lists and maps become the text of their JSON.

use std::borrow::Cow;
use std::fmt::Write;

/// Value of an attribute, as recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum AnyValue<'t> {
    /// No value.
    #[default]
    Empty,
    Text(Cow<'t, str>),
    Bool(bool),
    Int(i64),
    Double(f64),
    /// A list or a map, as JSON.
    Json(String),
}

impl<'t> AnyValue<'t> {
    /// The value as text.
    pub(super) fn into_text(self) -> Cow<'t, str> {
        match self {
            AnyValue::Empty => Cow::Borrowed(""),
            AnyValue::Text(text) => text,
            AnyValue::Bool(true) => Cow::Borrowed("true"),
            AnyValue::Bool(false) => Cow::Borrowed("false"),
            AnyValue::Int(number) => Cow::Owned(number.to_string()),
            AnyValue::Double(number) => Cow::Owned(format_double(number)),
            AnyValue::Json(json) => Cow::Owned(json),
        }
    }

    fn write_json(&self, out: &mut String) {
        match self {
            AnyValue::Empty => out.push_str("null"),
            AnyValue::Text(text) => write_quoted(text, out),
            AnyValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            // Writing to a string does not fail.
            AnyValue::Int(number) => drop(write!(out, "{number}")),
            AnyValue::Double(number) if number.is_finite() => out.push_str(&format_double(*number)),
            AnyValue::Double(number) => write_quoted(&format_double(*number), out),
            AnyValue::Json(json) => out.push_str(json),
        }
    }

    /// Encodes a list of values.
    pub(super) fn from_list(values: &[AnyValue<'_>]) -> AnyValue<'t> {
        let mut json = String::from("[");
        for (place, value) in values.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            value.write_json(&mut json);
        }
        json.push(']');
        AnyValue::Json(json)
    }

    /// Encodes a map of values.
    pub(super) fn from_map(members: &[(Cow<'_, str>, AnyValue<'_>)]) -> AnyValue<'t> {
        let mut json = String::from("{");
        for (place, (key, value)) in members.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            write_quoted(key, &mut json);
            json.push(':');
            value.write_json(&mut json);
        }
        json.push('}');
        AnyValue::Json(json)
    }
}

/// Formats a number as briefly as possible so that it parses to the same number.
fn format_double(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{number:?}"),
    }
}

fn write_quoted(text: &str, out: &mut String) {
    // A string can always be written as JSON.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_values_are_json_and_others_text() {
        let values = [
            (AnyValue::Empty, "", "null"),
            (AnyValue::Text("a \"b\"".into()), "a \"b\"", r#""a \"b\"""#),
            (AnyValue::Bool(true), "true", "true"),
            (AnyValue::Int(-7), "-7", "-7"),
            (AnyValue::Double(1.0), "1.0", "1.0"),
            (AnyValue::Double(1e300), "1e300", "1e300"),
            (AnyValue::Double(f64::NAN), "NaN", "\"NaN\""),
        ];
        for (value, text, json) in values.clone() {
            assert_eq!(
                AnyValue::from_list(std::slice::from_ref(&value)).into_text(),
                format!("[{json}]")
            );
            let map = AnyValue::from_map(&[
                ("k\n".into(), value.clone()),
                ("l".into(), AnyValue::Int(1)),
            ]);
            assert_eq!(map.into_text(), format!("{{\"k\\n\":{json},\"l\":1}}"));
            assert_eq!(value.into_text(), text);
        }
        let nested = AnyValue::from_list(&[AnyValue::from_list(&[]), AnyValue::from_map(&[])]);
        assert_eq!(nested.into_text(), "[[],{}]");
    }
}
