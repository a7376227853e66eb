//! The names of all protocols, a line each. `scripts/fuzz` asks for them.

fn main() {
    for protocol in protocols::PROTOCOLS {
        println!("{}", protocol.about.name);
    }
}
