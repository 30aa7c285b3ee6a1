//! Random numbers that choose among queues, and among the victims of a thief.

/// Draws random numbers. Each worker has its own stream.
pub trait Draw: Send + 'static {
    /// Makes the stream of a seat. Each seat has a different one.
    fn new(seat: usize) -> Self;

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize;
}

/// G. Marsaglia, *Xorshift RNGs*, 2003. Good enough to spread thieves over victims.
#[derive(Clone, Debug)]
pub struct XorShift(u64);

impl Draw for XorShift {
    fn new(seat: usize) -> Self {
        XorShift((seat as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    #[inline]
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * bound as u64) >> 32) as usize
    }
}
