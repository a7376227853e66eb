//! Patch plans of programs' files. A file is disassembled once; its plan is kept in this process,
//! and in a folder for the next one.

mod folder;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::patching::{ElfHeader, ElfImage, PatchPlan, plan_patches};
use twox_hash::XxHash3_128;

use crate::blob::{InjectionTarget, PrepareError};
use crate::regular;
use crate::tuning::{HEAD_BYTES, MAX_CACHED_PLANS, MAX_CODE_FILE_BYTES};
pub(crate) use folder::PlanFolder;

/// Identity of an unchanged file: device, inode, modification time and length.
type FileVersion = (u64, u64, i64, i64, u64);

/// Plans of files.
#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    /// Plans by file; `None` for a program that loads the library itself.
    known: Mutex<HashMap<FileVersion, Option<Arc<PatchPlan>>>>,
    folder: Option<PlanFolder>,
}

impl PlanCache {
    /// Keeps plans in a folder, too.
    pub(crate) fn keep_in_folder(&mut self, folder: PathBuf) {
        self.folder = Some(PlanFolder::new(folder));
    }

    /// Plan of a program's file, which is made if it is not cached.
    pub(crate) fn plan_for(
        &self,
        target: &InjectionTarget,
    ) -> Result<Option<Arc<PatchPlan>>, PrepareError> {
        let file = regular::open_regular(&target.executable)?;
        let known = file_version(&file)?;
        // A thread that panicked has left the map intact.
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = lock().get(&known) {
            return Ok(plan.clone());
        }
        let found = self.load_or_plan(&file, known, target.interpreted)?;
        let mut plans = lock();
        if plans.len() >= MAX_CACHED_PLANS {
            plans.clear();
        }
        plans.insert(known, found.clone());
        Ok(found)
    }

    /// Reads a plan from the folder, or makes it.
    fn load_or_plan(
        &self,
        file: &File,
        known: FileVersion,
        interpreted: bool,
    ) -> Result<Option<Arc<PatchPlan>>, PrepareError> {
        // Among programs with an interpreter, only Go's have plans.
        let is_wanted = |go_version: Option<&str>| !interpreted || go_version.is_some();
        let head = read_elf_header(file).ok().flatten().unwrap_or_default();
        let mut bytes = None;
        let mut key = head.build_id.as_deref().map(|id| key_of_build(id, known));
        let folder = self.folder.as_ref().filter(|_| is_trusted(file));
        if let (None, Some(_)) = (&key, folder) {
            key = Some(key_of_content(bytes.insert(read_file(file)?)));
        }
        let kept = folder.zip(key.as_deref()).and_then(|(folder, key)| folder.read_plan(key));
        if let Some(plan) = kept.filter(|plan| matches_file(plan, file, &head)) {
            return Ok(is_wanted(plan.go_version.as_deref()).then(|| Arc::new(plan)));
        }
        let bytes = bytes.map_or_else(|| read_file(file), Ok)?;
        let image = ElfImage::parse(&bytes)?;
        if !is_wanted(image.go_version()) {
            return Ok(None);
        }
        let plan = plan_patches(&image)?;
        if let Some((folder, key)) = folder.zip(key.as_deref()) {
            folder.write_plan(key, &plan);
        }
        Ok(Some(Arc::new(plan)))
    }
}

/// Identity of a file.
fn file_version(file: &File) -> io::Result<FileVersion> {
    let about = file.metadata()?;
    Ok((about.dev(), about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
}

/// Key of a file's plan. Some builds give all their files the same id, so the file's length and
/// modification time count as well.
fn key_of_build(id: &[u8], (_, _, seconds, nanoseconds, length): FileVersion) -> Vec<u8> {
    let words = [seconds.cast_unsigned(), nanoseconds.cast_unsigned(), length];
    let words = words.map(u64::to_le_bytes);
    [b"build ", id, words.as_flattened()].concat()
}

/// Key of the plan of a file without a build id.
fn key_of_content(bytes: &[u8]) -> Vec<u8> {
    [&b"content "[..], &XxHash3_128::oneshot(bytes).to_le_bytes()].concat()
}

/// Parses the beginning of a file.
fn read_elf_header(file: &File) -> io::Result<Option<ElfHeader>> {
    let mut bytes = vec![0; HEAD_BYTES];
    let length = file.read_at(&mut bytes, 0)?;
    bytes.truncate(length);
    Ok(ElfHeader::parse(&bytes))
}

/// Reads a whole file, unless it is larger than any program.
fn read_file(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.metadata()?.len() > MAX_CODE_FILE_BYTES {
        let why = format!("it is larger than {} MB", MAX_CODE_FILE_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    file.take(MAX_CODE_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a file's plan may be kept and used for other files of its build id: no other user wrote
/// the file, and gave it the id of another program.
fn is_trusted(file: &File) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    let own = rustix::process::geteuid().as_raw();
    file.metadata()
        .is_ok_and(|about| [0, own].contains(&about.uid()) && about.mode() & OTHERS_WRITE == 0)
}

/// Whether a file has the bytes from which a plan was made.
fn matches_file(plan: &PatchPlan, file: &File, head: &ElfHeader) -> bool {
    plan.evidence().all(|(address, expected)| {
        let mut found = vec![0; expected.len()];
        let offset = head.file_offset(address);
        offset.is_some_and(|at| file.read_exact_at(&mut found, at).is_ok() && found == expected)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Compiles a static program with this option of the linker.
    fn program(folder: &Path, option: &str) -> PathBuf {
        let (source, program) = (folder.join("program.c"), folder.join("program"));
        fs::write(&source, "int main(void) { return 0; }").unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-static", option, "-o"]).args([&program, &source]);
        assert!(gcc.status().unwrap().success());
        program
    }

    /// Plan that a new recorder finds for a program.
    fn find(program: &Path, kept: &Path) -> PatchPlan {
        let mut plans = PlanCache::default();
        plans.keep_in_folder(kept.to_owned());
        let target = InjectionTarget {
            process: 0,
            executable: program.to_owned(),
            path: program.to_owned(),
            bias: 0,
            interpreted: false,
            is_left_again: false,
        };
        let found = plans.plan_for(&target).unwrap().unwrap();
        assert!(Arc::ptr_eq(&found, &plans.plan_for(&target).unwrap().unwrap()));
        PatchPlan::clone(&found)
    }

    fn key(program: &Path) -> Vec<u8> {
        let file = File::open(program).unwrap();
        match read_elf_header(&file).unwrap().unwrap().build_id {
            Some(id) => key_of_build(&id, file_version(&file).unwrap()),
            None => key_of_content(&read_file(&file).unwrap()),
        }
    }

    #[test]
    fn a_plan_of_one_recorder_is_read_by_the_next() {
        for option in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
            let place = tempfile::tempdir().unwrap();
            let program = program(place.path(), option);
            let kept = place.path().join("kept");
            let whole = find(&program, &kept);
            assert!(whole.evidence().count() > 100);
            assert_eq!(find(&program, &kept), whole);
            // A plan that differs in unpatched parts is used unchanged.
            let mut other = whole.clone();
            other.entry ^= 1;
            PlanFolder::new(kept.clone()).write_plan(&key(&program), &other);
            assert_eq!(find(&program, &kept), other, "{option}");
            // A damaged plan is made again.
            for entry in fs::read_dir(&kept).unwrap() {
                fs::write(entry.unwrap().path(), "nothing").unwrap();
            }
            assert_eq!(find(&program, &kept), whole, "{option}");
            assert_eq!(find(&program, &kept), whole, "{option}");
        }
    }

    /// Root would use the plan for the program that really has this id.
    #[test]
    fn no_plan_is_kept_of_a_file_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let program = program(place.path(), "-Wl,--build-id=sha1");
        let kept = place.path().join("kept");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o777)).unwrap();
        find(&program, &kept);
        assert!(!kept.exists());
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        find(&program, &kept);
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_larger_than_any_program_is_not_read() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(MAX_CODE_FILE_BYTES + 1).unwrap();
        assert!(read_file(&file).unwrap_err().to_string().contains("larger"));
    }

    /// A program that was changed by hand still has its build id.
    #[test]
    fn a_plan_of_other_bytes_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let program = program(place.path(), "-Wl,--build-id=sha1");
        let kept = place.path().join("kept");
        let whole = find(&program, &kept);
        let (key, mut other) = (key(&program), whole.clone());
        other.entry ^= 1;
        PlanFolder::new(kept.clone()).write_plan(&key, &other);
        let window = whole.sites.iter().find_map(|site| site.before.clone()).unwrap();
        let mut bytes = fs::read(&program).unwrap();
        let at = ElfHeader::parse(&bytes).unwrap().file_offset(window.address).unwrap() as usize;
        bytes[at] = 0xcc;
        let then = fs::metadata(&program).unwrap().modified().unwrap();
        fs::write(&program, bytes).unwrap();
        File::options().write(true).open(&program).unwrap().set_modified(then).unwrap();
        assert_eq!(self::key(&program), key);
        let found = find(&program, &kept);
        assert_eq!(found.entry, whole.entry);
        assert_ne!(found, whole);
    }
}
