//! Print part of a format: `"dev=%s state=%s", __get_str(name), __print_symbolic(...)`. For each
//! conversion with a single field as its argument, it yields the name before it and the names of
//! its values.

/// Names of values.
type NamedValues = Vec<(i64, String)>;

/// How a field is printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldPrinting {
    /// Own name of the field.
    pub(super) field: String,
    /// Name that is printed before the field.
    pub(super) name: Option<String>,
    /// Names of the field's values; for flags also the separator.
    pub(super) table: Option<(NamedValues, Option<String>)>,
    /// Whether the field is printed as an IP address.
    pub(super) is_address: bool,
}

/// Parses all fields that `text` prints on their own.
pub(super) fn parse_printing(text: &str) -> Vec<FieldPrinting> {
    let mut arguments = split_arguments(text).into_iter();
    let Some(format) = arguments.next().and_then(unquote_text) else { return Vec::new() };
    let conversions = parse_conversions(&format);
    let printings = conversions.into_iter().zip(arguments).filter_map(|(conversion, argument)| {
        let (field, table) = argument_of(argument)?;
        let (name, is_address) = conversion;
        Some(FieldPrinting { field, name, table, is_address })
    });
    printings.collect()
}

/// Splits `text` at commas outside of brackets and quotes.
fn split_arguments(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut quoted, mut escaped) =
        (Vec::new(), 0, 0_i32, false, false);
    for (place, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '(' | '{' | '[' if !quoted => depth += 1,
            ')' | '}' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(text.get(begin..place).unwrap_or_default().trim());
                begin = place + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(begin..).unwrap_or_default().trim());
    parts
}

fn unquote_text(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut plain = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    Some(plain)
}

/// The name before each conversion, if there is one, and whether it is an IP address.
fn parse_conversions(format: &str) -> Vec<(Option<String>, bool)> {
    let mut found = Vec::new();
    let mut rest = format;
    let mut before = String::new();
    while let Some(sign) = rest.find('%') {
        before.push_str(rest.get(..sign).unwrap_or_default());
        rest = rest.get(sign + 1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix('%') {
            rest = after;
            continue;
        }
        let flags =
            rest.find(|letter: char| letter.is_ascii_alphabetic() && !"hlzq".contains(letter));
        let Some(end) = flags else { break };
        let conversion = rest.get(end..).unwrap_or_default();
        let is_address = conversion.starts_with("pI");
        rest = conversion.get(1..).unwrap_or_default();
        if is_address {
            rest = rest.trim_start_matches(|letter: char| "I46chblnS".contains(letter));
        }
        let name = before.strip_suffix("0x").unwrap_or(&before);
        let name = name.strip_suffix('=').or_else(|| name.strip_suffix(": "));
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let name = name.and_then(|name| name.rsplit(|letter| !is_name(letter)).next());
        found.push((name.filter(|name| !name.is_empty()).map(str::to_owned), is_address));
        before.clear();
    }
    found
}

/// A field, the names of its values if it has any, and the separator between flags.
type PrintArgument = (String, Option<(NamedValues, Option<String>)>);

/// Field that an argument prints, and the names of its values.
fn argument_of(argument: &str) -> Option<PrintArgument> {
    let argument = strip_casts(argument);
    let inside = |function: &str| {
        let inner = argument.strip_prefix(function)?.trim_start().strip_prefix('(')?;
        inner.strip_suffix(')')
    };
    if let Some(name) = inside("__get_str").or_else(|| inside("__get_rel_str")) {
        return Some((name.trim().to_owned(), None));
    }
    if let Some(inner) = inside("__print_symbolic") {
        let parts = split_arguments(inner);
        let (field, pairs) = parts.split_first()?;
        return Some((record_field(strip_casts(field))?, Some((parse_named_values(pairs)?, None))));
    }
    if let Some(inner) = inside("__print_flags") {
        let parts = split_arguments(inner);
        let [field, between, pairs @ ..] = parts.as_slice() else { return None };
        let between = unquote_text(between)?;
        return Some((
            record_field(strip_casts(field))?,
            Some((parse_named_values(pairs)?, Some(between))),
        ));
    }
    Some((record_field(argument)?, None))
}

/// Field of `REC->name`.
fn record_field(text: &str) -> Option<String> {
    let name = text.strip_prefix("REC->")?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// Strips brackets around `text` and casts before it.
fn strip_casts(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = text.strip_prefix('(') {
        let mut depth = 1;
        let close = inner.char_indices().find(|(_, letter)| {
            depth += i32::from(*letter == '(') - i32::from(*letter == ')');
            depth == 0
        });
        let Some((close, _)) = close else { break };
        let (within, after) =
            (inner.get(..close).unwrap_or_default(), inner.get(close + 1..).unwrap_or_default());
        // A cast consists of words only; anything else in brackets is the operand.
        let is_cast = |letter: char| letter.is_ascii_alphanumeric() || "_ *".contains(letter);
        text = match after.trim() {
            "" => within.trim(),
            after if within.chars().all(is_cast) => after,
            _ => break,
        };
    }
    text
}

/// Parses the pairs `{ 1, "name" }`.
fn parse_named_values(pairs: &[&str]) -> Option<NamedValues> {
    let pair = |pair: &&str| {
        let inner = pair.strip_prefix('{')?.strip_suffix('}')?;
        let parts = split_arguments(inner);
        let [value, name] = parts.as_slice() else { return None };
        Some((parse_number(strip_casts(value))?, unquote_text(name)?))
    };
    pairs.iter().map(pair).collect()
}

fn parse_number(text: &str) -> Option<i64> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as i64),
        None => text.parse().ok(),
    }
}
