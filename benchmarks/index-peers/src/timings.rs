//! Durations of single calls, and the bytes that are allocated.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::time::Instant;

#[derive(Default)]
pub struct Timings(Vec<u64>);

impl Timings {
    #[inline]
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push(start.elapsed().as_nanos() as u64);
        result
    }

    pub fn add_all(&mut self, others: Timings) {
        self.0.extend(others.0);
    }

    /// Of one of the `parts` that each call had.
    pub fn print(mut self, row: &str, parts: usize) {
        self.0.sort_unstable();
        let count = self.0.len();
        let parts = parts as f64;
        let mean = self.0.iter().sum::<u64>() as f64 / count as f64;
        println!(
            "{row:<50} {:>10.0} {:>10.0} {:>10.0} {count:>10}",
            self.0[count / 2] as f64 / parts,
            self.0[(count as f64 * 0.99) as usize] as f64 / parts,
            mean / parts
        );
    }
}

pub fn print_header(title: &str) {
    println!("\n{title:<50} {:>10} {:>10} {:>10} {:>10}", "p50, ns", "p99, ns", "mean, ns", "calls");
}

/// mimalloc; counts the bytes asked for while it is told to.
pub struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicI64 = AtomicI64::new(0);

/// Bytes that are still allocated of those that the work asked for.
pub fn live_bytes_of<T>(work: impl FnOnce() -> T) -> (i64, T) {
    LIVE.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
    let result = work();
    COUNTS.store(false, Relaxed);
    (LIVE.load(Relaxed), result)
}

#[inline]
fn count(bytes: i64) {
    if COUNTS.load(Relaxed) {
        LIVE.fetch_add(bytes, Relaxed);
    }
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        unsafe { MiMalloc.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        unsafe { MiMalloc.realloc(at, layout, size) }
    }
}
