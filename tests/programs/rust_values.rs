//! Rust: boxes, vectors, strings and threads, through the system allocator.
//! expect: site_box allocations=10 frees=10 bytes=240 temporary=10
//! expect: site_vector allocations=1 frees=1 bytes=800
//! expect: site_grown allocations=6 frees=6 bytes=504
//! expect: site_leaked allocations=1 frees=0 bytes=64 live_bytes=64
//! expect: site_aligned allocations=1 frees=1 bytes=128
use std::mem::{forget, ManuallyDrop};

/// The value, through a read the compiler must not see through.
fn keep<T>(value: T) -> T {
    let value = ManuallyDrop::new(value);
    unsafe { std::ptr::read_volatile(&*value) }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn site_box() {
    for i in 0..10u64 {
        drop(keep(Box::new([i; 3])));
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn site_vector() {
    drop(keep(vec![0u64; 100]));
}

/// Grows to 4, 8, 16, 32, 64 and 128 elements of two bytes, each step a realloc but the first.
#[no_mangle]
#[inline(never)]
pub extern "C" fn site_grown() {
    let mut numbers: Vec<u16> = Vec::new();
    for i in 0..65 {
        numbers.push(keep(i));
    }
    drop(keep(numbers));
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn site_leaked() {
    forget(keep(Box::new([1u8; 64])));
}

#[repr(align(128))]
struct Wide([u8; 128]);

#[no_mangle]
#[inline(never)]
pub extern "C" fn site_aligned() {
    let _third = keep(Box::new(Wide([7; 128]))).0[3];
}

fn main() {
    site_box();
    site_vector();
    site_grown();
    site_leaked();
    site_aligned();
    std::panic::set_hook(Box::new(|_| {}));
    let thread = std::thread::spawn(|| std::panic::catch_unwind(|| panic!("caught")));
    println!("panicked {}", thread.join().unwrap().is_err());
}
