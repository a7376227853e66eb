//! Makes the types of the service from `shop.proto`, which the system puts beside this file.

fn main() -> std::io::Result<()> {
    tonic_prost_build::compile_protos("shop.proto")
}
