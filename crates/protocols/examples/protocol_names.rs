//! Prints the names of all protocols, one per line, for `scripts/fuzz`.

fn main() {
    for protocol in protocols::PROTOCOLS {
        println!("{}", protocol.about.name);
    }
}
