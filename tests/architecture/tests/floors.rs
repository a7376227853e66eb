//! Floors: the modules of `capture-shim` stand on floors, and each uses only those below it and
//! its own.

#![allow(clippy::unwrap_used, reason = "these are tests, and a helper of theirs")]

use std::path::Path;

use house::{Crate, workspace};

/// The floors of `capture-shim/src`, from the ground up. A floor is a file of that name and all in
/// its folder.
const FLOORS: &[&str] = &[
    "tuning",
    "c_library",
    "platform",
    "state",
    "descriptors",
    "log",
    "flows",
    "hooks",
    "exports",
];

/// What is wrong with the floors of a crate: modules on none, and uses of a floor above.
fn wrong(house: &Crate, floors: &[&str]) -> Vec<String> {
    let floor = |path: &[String]| {
        let room = path.first()?;
        floors.iter().position(|floor| floor == room)
    };
    let mut wrong = Vec::new();
    // The root says which floors there are, and stands on none.
    for path in house.modules.keys().filter(|path| !path.is_empty()) {
        if floor(path).is_none() {
            wrong.push(format!("{} is on no floor", path.join("::")));
        }
    }
    for arrow in house.arrows() {
        if let (Some(from), Some(to)) = (floor(&arrow.from), floor(&arrow.to))
            && to > from
        {
            wrong.push(format!(
                "{} uses {} of {}, a floor above",
                arrow.from.join("::"),
                arrow.name,
                arrow.to.join("::")
            ));
        }
    }
    wrong
}

/// Reads a crate of the files `(name, text)`.
fn made(name: &str, files: &[(&str, &str)]) -> Crate {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    Crate::read(&folder).unwrap()
}

#[test]
fn arrows_among_the_floors_of_the_library_lead_down() {
    let house = Crate::read(&workspace::root().join("capture-shim/src")).unwrap();
    let wrong = wrong(&house, FLOORS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_floor_is_there() {
    let house = Crate::read(&workspace::root().join("capture-shim/src")).unwrap();
    for floor in FLOORS {
        assert!(house.modules.contains_key(&vec![(*floor).to_owned()]), "{floor}");
    }
}

#[test]
fn an_arrow_up_and_a_module_on_no_floor_are_found() {
    let files = [
        ("lib.rs", "mod ground; mod above; mod beside;"),
        ("ground.rs", "mod inner; pub struct G;"),
        ("ground/inner.rs", "use crate::above::f;"),
        ("above.rs", "pub fn f() -> crate::ground::G { crate::ground::G }"),
        ("beside.rs", ""),
    ];
    let house = made("arrow-up", &files);
    assert_eq!(
        wrong(&house, &["ground", "above"]),
        ["beside is on no floor", "ground::inner uses f of above, a floor above"]
    );
}
