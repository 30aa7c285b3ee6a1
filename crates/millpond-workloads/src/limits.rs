//! The memory available to the process: the minimum left by the machine, its control groups and its
//! resource limits.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The bytes available to the process without swapping; `None` if the system does not report them.
pub(crate) fn available() -> Option<u64> {
    let reserved = THREADS.load(Relaxed);
    let system = System { proc: Path::new("/proc"), cgroups: Path::new("/sys/fs/cgroup"), reserved };
    let limits = [system.machine(), system.control_groups(), system.address_space(), system.data_size()];
    limits.into_iter().flatten().min()
}

/// Bytes of a limited address space used by threads.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// Reserves bytes of a limited address space from now on.
pub(crate) fn reserve(bytes: u64) {
    THREADS.store(bytes, Relaxed);
}

/// The directories with the system's reports.
struct System<'a> {
    proc: &'a Path,
    cgroups: &'a Path,
    /// Bytes of a limited address space used by threads.
    reserved: u64,
}

/// The files of a memory controller.
struct Controller {
    limit: &'static str,
    used: &'static str,
    /// The field of `memory.stat` for the file cache, which is used memory that the kernel can
    /// free.
    cache: &'static str,
}

const VERSION_1: Controller =
    Controller { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cache: "total_inactive_file" };
const VERSION_2: Controller = Controller { limit: "memory.max", used: "memory.current", cache: "inactive_file" };

/// Data leave one part in this number of a limited address space unused, for stacks of suspended
/// tasks and for gaps.
const SHARE_LEFT: u64 = 4;
/// One part in this number of a limited address space is for data, whatever the number of threads.
const SMALL_SHARE: u64 = 16;

impl System<'_> {
    fn machine(&self) -> Option<u64> {
        kilobytes(&self.proc.join("meminfo"), "MemAvailable:")
    }

    /// The bytes left by the control groups of the process, up to the root of their hierarchy.
    fn control_groups(&self) -> Option<u64> {
        let text = fs::read_to_string(self.proc.join("self/cgroup")).ok()?;
        let rooms = text.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            if controllers.is_empty() {
                return room(self.cgroups.to_owned(), path, &VERSION_2);
            }
            let is_memory = controllers.split(',').any(|controller| controller == "memory");
            is_memory.then(|| room(self.cgroups.join("memory"), path, &VERSION_1)).flatten()
        });
        rooms.min()
    }

    /// The bytes left by `ulimit -v`.
    fn address_space(&self) -> Option<u64> {
        let left = self.soft_limit("Max address space")?.saturating_sub(self.status("VmSize:")?);
        Some(self.for_data(left))
    }

    /// The bytes left by `ulimit -d`.
    fn data_size(&self) -> Option<u64> {
        let left = self.soft_limit("Max data size")?.saturating_sub(self.status("VmData:")?);
        Some(self.for_data(left))
    }

    /// The bytes left by threads and stacks. A small job always gets some, because it does not need
    /// all bytes of the threads.
    fn for_data(&self, left: u64) -> u64 {
        let left = left.saturating_sub(self.reserved).max(left / SMALL_SHARE);
        left - left / SHARE_LEFT
    }

    fn status(&self, field: &str) -> Option<u64> {
        kilobytes(&self.proc.join("self/status"), field)
    }

    /// The named soft limit in bytes; `None` if it is `unlimited`.
    fn soft_limit(&self, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.proc.join("self/limits")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    }
}

/// The minimum left by a group and its enclosing groups.
fn room(root: PathBuf, path: &str, controller: &Controller) -> Option<u64> {
    let mut group = root.join(path.trim_start_matches('/'));
    // In a container the path can be the host's. The container's group is then mounted at the root.
    if !group.is_dir() {
        group.clone_from(&root);
    }
    let groups = group.ancestors().take_while(|group| group.starts_with(&root));
    groups.filter_map(|group| left(group, controller)).min()
}

/// The bytes left by a group; `None` if it has no limit.
fn left(group: &Path, controller: &Controller) -> Option<u64> {
    let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    // In version 2 the file has `max` if there is no limit.
    let (limit, used) = (number(controller.limit)?, number(controller.used)?);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|line| {
        let (name, bytes) = line.split_once(' ')?;
        (name == controller.cache).then(|| bytes.trim().parse::<u64>().ok()).flatten()
    });
    Some(limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
}

/// The bytes in a field of a file in `/proc`, which counts in kB.
fn kilobytes(file: &Path, field: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test's directory, for files like the kernel's.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("millpond-limits-{name}-{}", std::process::id()));
            for (file, text) in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
                fs::write(file, text).expect("a file");
            }
            Self(root)
        }

        fn control_groups(&self) -> Option<u64> {
            System { proc: &self.0.join("proc"), cgroups: &self.0.join("cgroup"), reserved: 0 }.control_groups()
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_tightest_group_of_version_2_counts_without_its_cache() {
        let files = [
            ("proc/self/cgroup", "0::/a/b\n"),
            ("cgroup/a/memory.max", "1000000\n"),
            ("cgroup/a/memory.current", "700000\n"),
            ("cgroup/a/memory.stat", "anon 300000\ninactive_file 400000\nactive_file 5\n"),
            ("cgroup/a/b/memory.max", "max\n"),
            ("cgroup/a/b/memory.current", "5\n"),
        ];
        assert_eq!(Root::new("v2", &files).control_groups(), Some(700_000));
        let tighter = [("cgroup/a/b/memory.max", "100\n"), ("cgroup/a/b/memory.current", "70\n")];
        assert_eq!(Root::new("v2-tight", &[&files[..4], &tighter].concat()).control_groups(), Some(30));
        let beyond = [("cgroup/a/b/memory.max", "100\n"), ("cgroup/a/b/memory.current", "170\n")];
        assert_eq!(Root::new("v2-beyond", &[&files[..4], &beyond].concat()).control_groups(), Some(0));
    }

    #[test]
    fn a_group_of_version_1_is_found_by_its_controller() {
        let files = [
            ("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/job\n0::/\n"),
            ("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("cgroup/memory/memory.usage_in_bytes", "50\n"),
            ("cgroup/memory/job/memory.limit_in_bytes", "4000\n"),
            ("cgroup/memory/job/memory.usage_in_bytes", "1500\n"),
            ("cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n"),
        ];
        assert_eq!(Root::new("v1", &files).control_groups(), Some(3000));
    }

    #[test]
    fn in_a_container_the_group_is_at_the_root() {
        let files = [
            ("proc/self/cgroup", "0::/of/the/host\n"),
            ("cgroup/memory.max", "4000\n"),
            ("cgroup/memory.current", "1500\n"),
        ];
        assert_eq!(Root::new("container", &files).control_groups(), Some(2500));
        assert_eq!(Root::new("none", &[("proc/self/cgroup", "0::/\n")]).control_groups(), None);
    }

    #[test]
    fn resource_limits_count_what_is_left() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         8192000              unlimited            bytes     \n";
        let files = [("self/limits", limits), ("self/status", "Name:\tx\nVmSize:\t    4000 kB\nVmData:\t 10 kB\n")];
        let root = Root::new("rlimit", &files);
        let of = |reserved| System { proc: &root.0, cgroups: &root.0, reserved };
        assert_eq!((of(0).address_space(), of(0).data_size()), (Some(4_096_000 / 4 * 3), None));
        assert_eq!((of(96_000).address_space(), of(5_000_000).address_space()), (Some(3_000_000), Some(192_000)));
    }
}
