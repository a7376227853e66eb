//! Prints the names of all importers, one per line.

fn main() {
    for kind in importers::IMPORTERS {
        println!("{}", kind.about.name);
    }
}
