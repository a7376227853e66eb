//! The names of all importers, a line each.

fn main() {
    for kind in importers::IMPORTERS {
        println!("{}", kind.about.name);
    }
}
