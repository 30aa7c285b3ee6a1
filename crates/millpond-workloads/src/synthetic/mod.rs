//! TEMP
pub mod pooled;
/// T
pub fn count(k: u64) -> u64 {
    let (mut a, mut b, mut s) = (1u64, 1u64, 0);
    for _ in 0..k {
        s += b;
        let c = 1 + a + b;
        a = b;
        b = c;
    }
    s
}
/// T
#[inline(never)]
pub fn work(units: u64) {
    let mut x = units;
    for _ in 0..units {
        x = std::hint::black_box(x.wrapping_mul(3));
    }
    std::hint::black_box(x);
}
