//! A file system of its own: ext4 in a file, mounted through a loop device, for settings that must
//! not touch the machine's.
//!
//! # Invariants
//! * V-1 what was changed is undone when it is dropped: mount, loop device, image, and the kernel's
//!   dirty limits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::{NamedTempFile, TempDir};

use crate::LabError;

/// Where the programs of a system's administrator lie, beside what the path says.
const PROGRAMS: &str = "/usr/sbin:/sbin";

/// A folder with at most one mounted file system.
pub(super) struct Volume {
    folder: TempDir,
    bytes: u64,
    mounted: Option<Mounted>,
    /// Settings of the queue before they were changed.
    before: Vec<(String, String)>,
}

/// A loop device over an image of its own: one that a container still holds cannot be made anew.
struct Mounted {
    image: NamedTempFile,
    device: PathBuf,
}

impl Volume {
    pub(super) fn new(directory: &Path, bytes: u64) -> Result<Self, LabError> {
        // SAFETY: asks for the user's number, without preconditions.
        if unsafe { libc::geteuid() } != 0 {
            return Err(LabError::Setting(
                "settings of the system are changed in a file system of its own, which only root \
                    may mount: run it as root, or leave --apply out"
                    .to_owned(),
            ));
        }
        let folder = tempfile::Builder::new()
            .prefix("graven-volume-")
            .tempdir_in(directory)
            .map_err(LabError::io(directory, "writing to"))?;
        let point = folder.path().join("mount");
        fs::create_dir(&point).map_err(LabError::io(&point, "making the folder"))?;
        Ok(Self {
            folder,
            bytes,
            mounted: None,
            before: Vec::new(),
        })
    }

    /// Where it is mounted.
    pub(super) fn point(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    /// Makes a new file system with these options of `mkfs.ext4` and mounts it with those.
    pub(super) fn make(&mut self, format: &[&str], mount: &str) -> Result<(), LabError> {
        self.unmount()?;
        let image = NamedTempFile::new_in(self.folder.path())
            .map_err(LabError::io(self.folder.path(), "writing to"))?;
        let failed = LabError::io(image.path(), "sizing");
        image.as_file().set_len(self.bytes).map_err(failed)?;
        let path = text(image.path());
        let mut arguments = vec!["-q", "-F"];
        arguments.extend(format);
        arguments.push(&path);
        ask("mkfs.ext4", &arguments)?;
        let device = ask("losetup", &["-f", "--show", &path])?;
        let device = device.trim().to_owned();
        if let Err(error) = ask("mount", &["-o", mount, &device, &text(&self.point())]) {
            let _ = ask("losetup", &["-d", &device]);
            return Err(error);
        }
        self.mounted = Some(Mounted {
            image,
            device: PathBuf::from(device),
        });
        Ok(())
    }

    fn unmount(&mut self) -> Result<(), LabError> {
        let restored = self.restore();
        let Some(mounted) = self.mounted.take() else {
            return restored;
        };
        let unmounted = ask("umount", &[&text(&self.point())]);
        if unmounted.is_err() {
            // Still busy: it goes when the last file is closed.
            let _ = ask("umount", &["-l", &text(&self.point())]);
        }
        let detached = ask("losetup", &["-d", &text(&mounted.device)]);
        drop(mounted.image);
        restored.and(unmounted).and(detached).map(drop)
    }

    fn queue(&self, name: &str) -> PathBuf {
        let device = self.mounted.as_ref().and_then(|one| one.device.file_name());
        Path::new("/sys/block")
            .join(device.unwrap_or_default())
            .join("queue")
            .join(name)
    }

    /// A setting of the device's queue.
    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.queue(name)).unwrap_or_default()
    }

    /// Changes a setting of the device's queue until [`Volume::restore`].
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), LabError> {
        self.before
            .push((name.to_owned(), chosen(&self.read(name))));
        self.write(name, value)
    }

    fn write(&self, name: &str, value: &str) -> Result<(), LabError> {
        let path = self.queue(name);
        fs::write(&path, value).map_err(LabError::io(&path, "writing"))
    }

    /// Puts the device's queue back.
    pub(super) fn restore(&mut self) -> Result<(), LabError> {
        while let Some((name, value)) = self.before.pop() {
            self.write(&name, &value)?;
        }
        Ok(())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // Nothing more can be done about a failure; what is busy goes by itself.
        let _ = self.unmount();
    }
}

/// The value in brackets of a list to choose from; else all of it.
fn chosen(list: &str) -> String {
    let inner = list
        .split('[')
        .nth(1)
        .and_then(|rest| rest.split(']').next());
    inner.unwrap_or(list).trim().to_owned()
}

/// The kernel's limits of dirty pages, changed until it is dropped.
pub(super) struct DirtyLimits {
    before: Vec<(PathBuf, String)>,
}

impl DirtyLimits {
    pub(super) fn set(background: u32, writers: u32) -> Result<Self, LabError> {
        let mut limits = Self { before: Vec::new() };
        for (name, value) in [("dirty_background", background), ("dirty", writers)] {
            // The bytes win where they are not 0; writing one sets the other to 0.
            let files = ["ratio", "bytes"].map(|unit| {
                let path = PathBuf::from(format!("/proc/sys/vm/{name}_{unit}"));
                let text = fs::read_to_string(&path).unwrap_or_default();
                (path, text.trim().to_owned())
            });
            let in_force = files
                .iter()
                .find(|(_, value)| value != "0" && !value.is_empty());
            if let Some(in_force) = in_force {
                limits.before.push(in_force.clone());
            }
            let path = &files[0].0;
            fs::write(path, value.to_string()).map_err(LabError::io(path, "writing"))?;
        }
        Ok(limits)
    }
}

impl Drop for DirtyLimits {
    fn drop(&mut self) {
        for (path, value) in &self.before {
            let _ = fs::write(path, value);
        }
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a program of the system; what it printed.
fn ask(program: &str, arguments: &[&str]) -> Result<String, LabError> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", format!("{path}:{PROGRAMS}"))
        .output()
        .map_err(|error| LabError::Setting(format!("{program} cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(LabError::Setting(format!(
        "{program} {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}
