//! Tests of the cycle finder on small crates.

#![allow(clippy::unwrap_used, reason = "these are tests, and a helper of theirs")]

use std::fs;
use std::path::Path;

use architecture::CrateSources;

/// Reads a crate of the files `(name, text)`.
fn read_sources(files: &[(&str, &str)]) -> CrateSources {
    let name = std::thread::current().name().unwrap_or("made").replace("::", "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    CrateSources::read_crate(&folder).unwrap()
}

fn dependency_lines(sources: &CrateSources) -> Vec<String> {
    let dependencies = sources.module_dependencies().into_iter();
    dependencies
        .map(|dependency| format!("{}->{}", dependency.from.join("::"), dependency.to.join("::")))
        .collect()
}

#[test]
fn an_import_a_path_and_a_macro_are_uses() {
    let sources = read_sources(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B; pub fn f() -> crate::c::C { crate::c::C }"),
        ("c.rs", "pub struct C; pub fn g() { println!(\"{}\", crate::d::D) }"),
        ("d.rs", "pub const D: u8 = 0;"),
    ]);
    assert_eq!(dependency_lines(&sources), ["a->b", "b->c", "c->d"]);
    assert!(sources.file_cycles().is_empty());
}

#[test]
fn a_dependency_goes_through_re_exports_to_the_definition() {
    let sources = read_sources(&[
        ("lib.rs", "mod room; mod user; pub use room::Inner;"),
        ("room.rs", "mod inner; pub use inner::*;"),
        ("room/inner.rs", "pub struct Inner;"),
        (
            "user.rs",
            "use crate::Inner; use crate::room; pub fn f(_: Inner) -> room::Inner { todo!() }",
        ),
    ]);
    assert_eq!(dependency_lines(&sources), ["user->room::inner"]);
}

#[test]
fn uses_in_tests_are_no_dependencies() {
    let sources = read_sources(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
        ("b.rs", "use crate::a::A; pub struct B(A);"),
    ]);
    assert_eq!(dependency_lines(&sources), ["b->a"]);
}

#[test]
fn a_file_and_its_folder_can_make_a_cycle() {
    let sources = read_sources(&[
        ("lib.rs", "mod room;"),
        ("room.rs", "mod inner; pub struct Shared; pub fn f() { inner::g() }"),
        ("room/inner.rs", "use super::Shared; pub fn g() -> Shared { Shared }"),
    ]);
    assert_eq!(sources.file_cycles().len(), 1);
    assert!(sources.folder_cycles().is_empty());
}

#[test]
fn folders_can_make_a_cycle_though_no_files_do() {
    let sources = read_sources(&[
        ("lib.rs", "mod one; mod two;"),
        ("one.rs", "pub mod a; pub mod b;"),
        ("one/a.rs", "use crate::two::c::C; pub struct A(C);"),
        ("one/b.rs", "pub struct B;"),
        ("two.rs", "pub mod c; pub mod d;"),
        ("two/c.rs", "pub struct C;"),
        ("two/d.rs", "use crate::one::b::B; pub struct D(B);"),
    ]);
    assert!(sources.file_cycles().is_empty());
    assert_eq!(sources.folder_cycles(), [vec![vec!["one".to_owned()], vec!["two".to_owned()]]]);
}
