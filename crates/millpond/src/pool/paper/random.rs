//! The random numbers of the paper's randomised pools (TP §3.4).

use rand_mt::Mt;

use crate::pool::random::Draw;

/// C's `rand_r`, as on the paper's system, with floating point arithmetic (`rq1`).
pub struct RandR(u32);

impl RandR {
    const MAX: u32 = (1 << 31) - 1;

    /// A number of 31 bits, from three steps of a linear congruential generator.
    fn draw(&mut self) -> u32 {
        let mut step = |bits: u32| {
            self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (self.0 >> 16) & ((1 << bits) - 1)
        };
        let (high, middle, low) = (step(11), step(10), step(10));
        (high << 10 ^ middle) << 10 ^ low
    }
}

impl Draw for RandR {
    fn new(seat: usize) -> Self {
        RandR(seat as u32 + 1)
    }

    #[inline]
    fn below(&mut self, bound: usize) -> usize {
        (bound as f64 * (f64::from(self.draw()) / (f64::from(Self::MAX) + 1.0))) as usize
    }
}

/// The Mersenne Twister (M. Matsumoto and T. Nishimura, 1998), with integer arithmetic (`rq2`).
pub struct TwisterInteger(Mt);

impl Draw for TwisterInteger {
    fn new(seat: usize) -> Self {
        TwisterInteger(Mt::new(seat as u32 + 1))
    }

    #[inline]
    fn below(&mut self, bound: usize) -> usize {
        self.0.next_u32() as usize % bound
    }
}

/// The Mersenne Twister, with floating point arithmetic (`rq3`).
pub struct TwisterFloat(Mt);

impl Draw for TwisterFloat {
    fn new(seat: usize) -> Self {
        TwisterFloat(Mt::new(seat as u32 + 1))
    }

    #[inline]
    fn below(&mut self, bound: usize) -> usize {
        (bound as f64 * (f64::from(self.0.next_u32()) / (f64::from(u32::MAX) + 1.0))) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::random::XorShift;

    fn spreads<D: Draw>() {
        for bound in [1, 2, 7, 32] {
            let mut hits = vec![0; bound];
            let mut draw = D::new(3);
            (0..1000 * bound).for_each(|_| hits[draw.below(bound)] += 1);
            assert!(hits.iter().all(|&hits| (800..1200).contains(&hits)), "{hits:?}");
        }
        let stream = |seat| -> Vec<_> {
            let mut draw = D::new(seat);
            (0..20).map(|_| draw.below(1000)).collect()
        };
        assert_eq!(stream(0), stream(0));
        assert_ne!(stream(0), stream(1));
    }

    #[test]
    fn all_queues_are_drawn_alike() {
        spreads::<XorShift>();
        spreads::<RandR>();
        spreads::<TwisterInteger>();
        spreads::<TwisterFloat>();
    }

    /// The expected numbers are those of the C library, from seed 1.
    #[test]
    fn rand_r_is_the_systems() {
        let mut draw = RandR(1);
        assert_eq!([(); 4].map(|()| draw.draw()), [476_707_713, 1_186_278_907, 505_671_508, 2_137_716_191]);
    }
}
