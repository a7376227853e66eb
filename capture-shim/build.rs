//! Linker settings of `libsockcap.so`: no start files and no symbol bound late, so that the library
//! depends on libc alone and no hook ever runs into the dynamic linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in
        ["-nostartfiles", "-Wl,--as-needed", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--gc-sections"]
    {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}
