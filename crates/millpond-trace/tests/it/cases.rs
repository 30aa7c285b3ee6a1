//! The cases of a random test: their number, the first one, and the random numbers of each.

/// Runs `MILLPOND_CASES` cases, by default `usual`. The first number is `MILLPOND_SEED`, by default
/// 0. If a case panics, the output says how to run it again.
pub fn run(usual: u64, case: impl Fn(u64, &mut Random)) {
    let (from, count) = (number("MILLPOND_SEED", 0), number("MILLPOND_CASES", usual));
    for seed in from..from + count {
        let _running = Running { seed, nth: seed - from + 1, count };
        case(seed, &mut Random::new(seed));
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text}, must be a number")),
        Err(_) => otherwise,
    }
}

struct Running {
    seed: u64,
    nth: u64,
    count: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let Running { seed, nth, count } = self;
        if std::thread::panicking() {
            eprintln!("case {nth} of {count} failed; again: MILLPOND_SEED={seed} MILLPOND_CASES=1");
        }
    }
}

/// G. Marsaglia's xorshift. The seed of a case determines its numbers, on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        // Mixed, so that neighbours have little in common. The state is never 0, since xorshift
        // would stay there.
        Random((seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 11) % bound as u64) as usize
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
