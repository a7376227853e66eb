//! Explanations: the parameter that tells slow requests from others.

use compare::explanation::explain_mutations;
use compare::{Options, Period};

use crate::support::{TestWorld, WorldTables};

#[test]
fn large_carts_are_named_and_can_be_left_out() {
    let worlds =
        WorldTables::new(TestWorld::WELL, TestWorld { large: 40, ..TestWorld::WELL.again() });
    let options = Options::default();
    let found = worlds.compared(&options);
    let periods = worlds.tables.each_ref().map(Period::from_tables);
    let explained = |without: &[String]| {
        explain_mutations(periods.each_ref(), &found, &options, (10, without), &()).unwrap()
    };
    let first = explained(&[]).into_iter().flatten().next().unwrap();
    let sentence = &first.sentences[0];
    assert_eq!(sentence.parameters[0], "items");
    assert_eq!(sentence.conditions[0], "items of cart get above 21.5");
    assert!(sentence.shares[0] == 0.0 && (sentence.shares[1] - 0.4).abs() < 0.1, "{sentence:?}");
    let without = explained(&["items".to_owned()]);
    let asked = without.iter().flatten().flat_map(|of| &of.sentences);
    assert!(asked.flat_map(|sentence| &sentence.parameters).all(|name| name != "items"));
}

#[test]
fn a_status_that_comes_late_is_named() {
    let worlds =
        WorldTables::new(TestWorld::WELL, TestWorld { missing: 70, ..TestWorld::WELL.again() });
    let options = Options::default();
    let found = worlds.compared(&options);
    let periods = worlds.tables.each_ref().map(Period::from_tables);
    let explained =
        explain_mutations(periods.each_ref(), &found, &options, (10, &[]), &()).unwrap();
    let first = explained.into_iter().flatten().next().unwrap();
    let sentence = &first.sentences[0];
    assert_eq!(sentence.parameters[0], "http.response.status_code");
    assert_eq!(sentence.conditions[0], "http.response.status_code of cart get is 404");
    assert!(sentence.shares[0] == 0.0 && (sentence.shares[1] - 0.7).abs() < 0.1, "{sentence:?}");
}
