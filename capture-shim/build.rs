//! Linker settings of `libsockcap.so`: no start files and no lazy binding, so that the library
//! depends on libc alone and no hook ever enters the dynamic linker. The injected library depends
//! on nothing.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let injected = std::env::var_os("CARGO_FEATURE_INJECTED").is_some();
    // Without libc, there may be no dynamic linker either.
    let alone = ["-nostdlib", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,-z,norelro"];
    for argument in alone.iter().filter(|_| injected) {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    for argument in
        ["-nostartfiles", "-Wl,--as-needed", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--gc-sections"]
    {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
