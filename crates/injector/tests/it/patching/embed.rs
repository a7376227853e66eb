//! Program with embedded hooks: hooks, stubs and patches are written into its file, and a header
//! that is not needed makes the kernel load them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use injector::patching::{ElfImage, PatchPlan, StubEntries, assemble_patches, plan_patches};
use object::elf::{self, FileHeader64};
use object::endian::{U32, U64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol};

/// Size of a page, and alignment of the hooks.
const PAGE: u64 = 4096;
/// Size of a program header.
const HEADER: usize = size_of::<elf::ProgramHeader64<LittleEndian>>();

/// Runs a tool that the tests need.
pub(crate) fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status();
    let status = status.unwrap_or_else(|error| panic!("{program} is needed: {error}"));
    assert!(status.success(), "{program} {arguments:?}: {status}");
}

/// Source file next to this one.
pub(crate) fn source(name: &str) -> String {
    format!("{}/tests/it/patching/programs/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Writes a patched copy of a program that is loaded at a fixed address.
pub(crate) fn embed(program: &Path, directory: &Path) -> (PathBuf, PatchPlan) {
    let mut file = fs::read(program).unwrap();
    let image = ElfImage::parse(&file).unwrap();
    assert!(image.is_fixed(), "{} has no address of its own", program.display());
    // After the program, far enough for memory that grows from its end.
    let at = (image.address_span().end + (256 << 20)).next_multiple_of(PAGE);
    let hooks = directory.join("hooks");
    let (hooks, text) = (hooks.to_str().unwrap(), format!("-Wl,-Ttext={at:#x}"));
    run(
        "gcc",
        &[
            "-nostdlib",
            "-static",
            "-no-pie",
            "-Wl,--build-id=none",
            &text,
            "-o",
            hooks,
            &source("hooks.S"),
        ],
    );
    let hooks = fs::read(hooks).unwrap();
    let hooks = object::File::parse(&*hooks).unwrap();
    let symbol = |name: &str| {
        let symbol = hooks.symbols().find(|symbol| symbol.name() == Ok(name));
        symbol.unwrap_or_else(|| panic!("no {name}")).address()
    };
    let entries = StubEntries {
        before_c: symbol("before_c"),
        after_c: symbol("after_c"),
        before_go: symbol("before_go"),
        before_goroutine: symbol("before_goroutine"),
        ready: Some(symbol("ready")),
        after_go: symbol("after_go"),
    };
    injector::patching::fuzz(&file);
    let plan = plan_patches(&image).unwrap();
    let patches = assemble_patches(&plan, 0, symbol("stubs"), &entries).unwrap();
    assert!(patches.stubs.len() <= plan.stub_bytes());

    use object::ObjectSection;
    let section = hooks.section_by_name(".text").unwrap();
    assert_eq!(section.address(), at);
    let mut code = section.data().unwrap().to_vec();
    let stubs = (symbol("stubs") - at) as usize;
    assert!(code.len() - stubs >= patches.stubs.len(), "the hooks' file has room for fewer stubs");
    code[stubs..stubs + patches.stubs.len()].copy_from_slice(&patches.stubs);
    for patch in &patches.patches {
        let place = place(&file, patch.address);
        let bytes = &mut file[place..place + patch.new.len()];
        assert_eq!(bytes, patch.old, "{:#x}", patch.address);
        bytes.copy_from_slice(&patch.new);
    }
    let offset = file.len().next_multiple_of(PAGE as usize);
    file.resize(offset, 0);
    file.extend(&code);
    let header = spare_header(&file);
    let segment = elf::ProgramHeader64 {
        p_type: U32::new(LittleEndian, elf::PT_LOAD),
        p_flags: U32::new(LittleEndian, elf::ProgramFlags(7)),
        p_offset: U64::new(LittleEndian, offset as u64),
        p_vaddr: U64::new(LittleEndian, at),
        p_paddr: U64::new(LittleEndian, at),
        p_filesz: U64::new(LittleEndian, code.len() as u64),
        p_memsz: U64::new(LittleEndian, code.len() as u64),
        p_align: U64::new(LittleEndian, PAGE),
    };
    file[header..header + HEADER].copy_from_slice(object::bytes_of(&segment));
    // Some programs depend on their own name.
    let patched = directory.join("patched");
    fs::create_dir_all(&patched).unwrap();
    let patched = patched.join(program.file_name().unwrap());
    fs::write(&patched, file).unwrap();
    fs::set_permissions(&patched, Permissions::from_mode(0o755)).unwrap();
    (patched, plan)
}

/// Offset in the file of an address.
fn place(file: &[u8], address: u64) -> usize {
    let header = FileHeader64::<LittleEndian>::parse(file).unwrap();
    let segments = header.program_headers(LittleEndian, file).unwrap();
    let found = segments.iter().find_map(|segment| {
        let begin = segment.p_vaddr(LittleEndian);
        let is_here = segment.p_type(LittleEndian) == elf::PT_LOAD
            && (begin..begin + segment.p_filesz(LittleEndian)).contains(&address);
        is_here.then(|| (address - begin + segment.p_offset(LittleEndian)) as usize)
    });
    found.unwrap()
}

/// Offset of a dispensable program header: notes, or the one that marks the stack as not
/// executable.
fn spare_header(file: &[u8]) -> usize {
    let header = FileHeader64::<LittleEndian>::parse(file).unwrap();
    let segments = header.program_headers(LittleEndian, file).unwrap();
    let spare = [elf::PT_NOTE, elf::PT_GNU_STACK, elf::PT_GNU_PROPERTY];
    let index = segments.iter().rposition(|segment| spare.contains(&segment.p_type(LittleEndian)));
    header.e_phoff(LittleEndian) as usize + index.expect("a header to spare") * HEADER
}
