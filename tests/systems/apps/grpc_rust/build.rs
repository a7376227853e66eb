//! Generates the types of the service from `shop.proto`, which the system puts next to this file.

fn main() -> std::io::Result<()> {
    tonic_prost_build::compile_protos("shop.proto")
}
