//! Folder in which plans are kept for the next recorder, one file each.
//!
//! No failure here is an error: a plan that cannot be read is made again, and a plan that cannot be
//! written is not kept. A folder or a file that another user could have written is ignored.

use std::fs::{DirBuilder, File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::patching::PatchPlan;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use twox_hash::XxHash3_128;

use crate::tuning::{MAX_PLAN_FILE_BYTES, MAX_PLAN_FILES};

/// Write permissions of the group and of others.
const OTHERS_WRITE: u32 = 0o022;

/// Folder with plans.
#[derive(Debug)]
pub(crate) struct PlanFolder {
    path: PathBuf,
}

impl PlanFolder {
    /// Folder at a path; it is created with the first kept plan.
    pub(crate) fn new(path: PathBuf) -> PlanFolder {
        PlanFolder { path }
    }

    /// Plan that was kept under a key.
    pub(crate) fn read_plan(&self, key: &[u8]) -> Option<PatchPlan> {
        let folder = self.open_folder()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&folder, file_name(key), flags, Mode::empty()).ok()?;
        let file = File::from(file);
        let about = file.metadata().ok()?;
        if !about.is_file() || !is_own(&about) {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_PLAN_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        PatchPlan::from_bytes(&bytes, key)
    }

    /// Keeps a plan under a key, if possible.
    pub(crate) fn write_plan(&self, key: &[u8], plan: &PatchPlan) {
        let bytes = plan.to_bytes(key).ok();
        let bytes = bytes.filter(|bytes| (bytes.len() as u64) < MAX_PLAN_FILE_BYTES);
        if let Some((bytes, folder)) =
            bytes.zip(self.open_folder().or_else(|| self.create_folder()))
        {
            // If the write fails, the plan is made again the next time.
            let _ = write_file(&folder, &file_name(key), &bytes);
            remove_oldest(&folder);
        }
    }

    /// Opens the folder if it belongs to this user alone.
    fn open_folder(&self) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::open(&self.path, flags, Mode::empty()).ok()?);
        folder.metadata().ok().filter(is_own).map(|_| folder)
    }

    /// Creates the folder, below a folder of this user alone: root creates nothing in the home of
    /// another user.
    fn create_folder(&self) -> Option<File> {
        let above = self.path.ancestors().skip(1).find_map(|path| Path::metadata(path).ok())?;
        if !is_own(&above) {
            return None;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path).ok()?;
        self.open_folder()
    }
}

/// Whether a file belongs to this process's user, and no other user may write to it.
fn is_own(about: &Metadata) -> bool {
    about.uid() == rustix::process::geteuid().as_raw() && about.mode() & OTHERS_WRITE == 0
}

/// Name of the file for a key.
fn file_name(key: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(key))
}

/// Writes a file under another name first, so that no reader sees a part of it.
fn write_file(folder: &File, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let own = format!("{name}.{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, &own, flags, Mode::RUSR | Mode::WUSR)?;
    let written = File::from(file).write_all(bytes).and_then(|()| {
        Ok(rustix::fs::renameat_with(folder, &own, folder, name, RenameFlags::empty())?)
    });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(folder, &own, AtFlags::empty());
    }
    written
}

/// Removes the oldest files as long as there are too many.
fn remove_oldest(folder: &File) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let about = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let is_file = about.st_mode & libc::S_IFMT == libc::S_IFREG;
            is_file.then(|| (about.st_mtime, about.st_mtime_nsec, name.to_owned()))
        })
        .collect();
    files.sort_unstable();
    let count = files.len().saturating_sub(MAX_PLAN_FILES);
    for (_, _, name) in files.into_iter().take(count) {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, SystemTime};

    use crate::patching::{ElfImage, plan_patches};

    use super::*;

    /// Plan of a small program.
    fn some() -> PatchPlan {
        let file = fs::read("/bin/true").unwrap();
        plan_patches(&ElfImage::parse(&file).unwrap()).unwrap()
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_kept_plan_is_read_only_with_its_key() {
        let (place, plan) = (tempfile::tempdir().unwrap(), some());
        let path = place.path().join("a/b");
        let folder = PlanFolder::new(path.clone());
        assert_eq!(folder.read_plan(b"one"), None);
        folder.write_plan(b"one", &plan);
        assert_eq!(folder.read_plan(b"one").as_ref(), Some(&plan));
        assert_eq!(folder.read_plan(b"other"), None);
        assert_eq!(names(&path), [file_name(b"one")]);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        // A plan under another key's name is not accepted for that key.
        fs::rename(path.join(file_name(b"one")), path.join(file_name(b"other"))).unwrap();
        assert_eq!(folder.read_plan(b"other"), None);
    }

    #[test]
    fn files_that_others_could_have_written_are_not_read() {
        let (place, plan) = (tempfile::tempdir().unwrap(), some());
        let path = place.path().join("surveys");
        let folder = PlanFolder::new(path.clone());
        folder.write_plan(b"one", &plan);
        let file = path.join(file_name(b"one"));
        let rights = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for (of, wrong, right) in [(&file, 0o620, 0o600), (&path, 0o702, 0o700)] {
            rights(of, wrong);
            assert_eq!(folder.read_plan(b"one"), None);
            rights(of, right);
            assert!(folder.read_plan(b"one").is_some());
        }
        // Nor is the target of a link, and nothing is written through one.
        let link = place.path().join("link");
        symlink(&path, &link).unwrap();
        let linked = PlanFolder::new(link);
        linked.write_plan(b"two", &plan);
        assert_eq!((linked.read_plan(b"one"), folder.read_plan(b"two")), (None, None));
        symlink(&file, path.join(file_name(b"three"))).unwrap();
        assert_eq!(folder.read_plan(b"three"), None);
    }

    #[test]
    fn a_missing_folder_is_not_an_error() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for path in [file.join("below"), place.path().join("new"), "/proc/nothing/here".into()] {
            let folder = PlanFolder::new(path.clone());
            folder.write_plan(b"one", &some());
            assert_eq!(folder.read_plan(b"one"), None);
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_oldest_are_removed() {
        let (place, plan) = (tempfile::tempdir().unwrap(), some());
        let folder = PlanFolder::new(place.path().join("surveys"));
        let key = |count: usize| format!("key {count}").into_bytes();
        for count in 0..MAX_PLAN_FILES {
            folder.write_plan(&key(count), &plan);
            let file = File::open(folder.path.join(file_name(&key(count)))).unwrap();
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1 + count as u64);
            file.set_modified(then).unwrap();
        }
        folder.write_plan(b"one", &plan);
        folder.write_plan(b"two", &plan);
        assert_eq!(names(&folder.path).len(), MAX_PLAN_FILES);
        let there = |key: &[u8]| folder.read_plan(key).is_some();
        assert!(!there(&key(0)) && !there(&key(1)) && there(&key(2)));
        assert!(there(b"one") && there(b"two"));
    }
}
