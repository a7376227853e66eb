//! Ruby: versions with fiber schedulers, and the type of fibers among the interpreter's words.

#[path = "../../src/runtimes/ruby/fiber_type.rs"]
mod fiber_type;

use fiber_type::{FREE, NAME, find_free, has_schedulers};

/// Index of the function that frees a fiber among these words: addresses from 1000 on are code, and
/// the name is at 7.
fn found(words: &[usize]) -> Option<usize> {
    find_free(words, |address| address >= 1000, |address| address == 7)
}

#[test]
fn the_type_of_fibers_has_its_name_before_three_functions() {
    let other_type = [8, 1001, 1002, 1003, 0, 0];
    let fibers = [7, 1004, 1005, 1006, 1007, 0];
    assert_eq!(found(&[other_type, fibers].concat()), Some(8));
    assert_eq!(found(&fibers[..4]), Some(FREE));
    assert_eq!(NAME.last(), Some(&0), "another name may begin with it");
}

#[test]
fn a_type_that_is_not_certain_is_not_used() {
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[7, 1001, 1002]), None);
    assert_eq!(found(&[7, 1001, 1002, 0, 1003]), None, "a function is missing");
    assert_eq!(found(&[8, 1001, 1002, 1003]), None, "another name");
    assert_eq!(found(&[7, 1001, 1002, 1003, 7, 1001, 1002, 1003]), None, "two of them");
}

#[test]
fn ruby_has_fiber_schedulers_from_version_3_on() {
    for (version, expected) in [
        ("3.0.0", true),
        ("3.1.2", true),
        ("4.0.0dev", true),
        ("10.1", true),
        ("2.7.8", false),
        ("", false),
        ("dev", false),
    ] {
        assert_eq!(has_schedulers(version.as_bytes()), expected, "{version}");
    }
}
