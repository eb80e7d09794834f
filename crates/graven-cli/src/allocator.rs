//! How much freed memory the C library's allocator keeps for the next statement.
//!
//! # How it works
//! Statements one after the other take arrays of some hundred kilobytes and free them at their end. By itself the allocator of glibc
//! gives such memory back to the system each time, and the next statement pays for it page by page: a fifth of the time of a
//! search over two steps. Here it keeps up to 8 MiB at the end of each thread's heap, and only larger arrays
//! come from the system and go back there alone. Both limits are fixed, where glibc would raise its own up to 64 MiB.
//!
//! # Costs
//! Up to 8 MiB a thread that counts for nobody; part of what a process may take beside the memory limit.

/// Bytes kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: libc::c_int = 8 << 20;

/// To be called before there are other threads.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` sets numbers of the allocator; no other thread allocates yet. Where it refuses, all stays as it was.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT);
    }
}
