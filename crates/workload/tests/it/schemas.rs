//! Schemas: errors are reported with their line, and all shipped schemas can be parsed.

use std::path::Path;

use out_of_core::NameInterner;
use workload::join::{JoinOptions, TemporalJoin};
use workload::schema::{EventSchema, shipped_schemas};

fn error(text: &str) -> String {
    match EventSchema::parse(text, Path::new("own.schema")) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_file_line_and_remedy() {
    let cases = [
        (
            "EVENT a/b\n  SEED\n  ATRIBUTE x BASIC",
            "own.schema:3: ATRIBUTE is not a keyword; use one of",
        ),
        ("EVENT a/b\n\n  ATTRIBUTE x OPEN", "own.schema:3: OPEN is not a binding; ATTRIBUTE takes"),
        ("ATTRIBUTE x BASIC", "own.schema:1: ATTRIBUTE is before the first EVENT; put it below"),
        ("EVENT b", "own.schema:1: \"b\" is not a kind; write provider/name"),
        ("EVENT", "own.schema:1: EVENT takes a kind: EVENT provider/name"),
        ("EVENT a/b\nSEED now", "own.schema:2: \"now\" is unexpected; remove it"),
        ("EVENT a/b\nNAME \"x", "own.schema:2: a text has no closing quote; add one"),
        ("EVENT a/b\nATTRIBUTE x(y BASIC", "own.schema:2: ATTRIBUTE takes an attribute and BASIC"),
        ("EVENT a/b\nWHERE x > y", "own.schema:2: only whole numbers can be smaller"),
        ("EVENT a/b\nBEGIN duration", "own.schema:2: BEGIN takes BEFORE or AT"),
        ("EVENT a/b\nATTRIBUTE x BASIC", "own.schema:1: no event is a SEED"),
        ("EVENT a/b\nSEED\nWHERE m(x)", "own.schema:1: nothing is ever marked as m; write MARK m"),
        ("EVENT a/b\nSEED\nAFFECT x STOP", "own.schema:1: x is not an ATTRIBUTE of this schema"),
        ("EVENT a/b\nSEED\nSYNC a/b x a/b", "own.schema:3: x is not an ATTRIBUTE of this schema"),
        ("EVENT a/b\nSEED\nWAIT a/c", "own.schema:3: a/c is not an EVENT of this schema"),
        (
            "EVENT a/b\nSEED\nATTRIBUTE x BASIC\nEVENT a/c\nATTRIBUTE x(y, z) STOP",
            "own.schema:4: attribute x has 2 values here and 1 above",
        ),
        ("EVENT a/{b,c}\nSEED\nAFTER a/d", "own.schema:1: AFTER has 1 kinds for 2 of its EVENT"),
        ("EVENT a/b\nSEED\nBEGIN AT t AS a/c", "own.schema:1: a/c is not an EVENT of this schema"),
    ];
    for (text, expected) in cases {
        let error = error(text);
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn all_shipped_schemas_compile() {
    assert_eq!(shipped_schemas().len(), 5);
    for shipped in shipped_schemas() {
        let schema = shipped.parse_schema().unwrap();
        TemporalJoin::new(&schema, JoinOptions::default(), &mut NameInterner::default()).unwrap();
        assert!(!shipped.about.is_empty());
    }
}

#[test]
fn a_kind_with_too_many_attributes_is_refused_with_its_line() {
    let conditions: String = (0..9).map(|number| format!("WHERE a{number} > 1\n")).collect();
    let text = format!("EVENT a/b\nSEED\nEVENT a/c\n{conditions}");
    let schema = EventSchema::parse(&text, Path::new("own.schema")).unwrap();
    let refused = TemporalJoin::new(&schema, JoinOptions::default(), &mut NameInterner::default());
    let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(error, "own.schema:3: more than 8 attributes of a/c are used; use fewer");
}
