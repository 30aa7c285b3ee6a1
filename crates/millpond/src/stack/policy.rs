//! The decisions of work stealing as pure functions: at which end of a stack a thief begins, what is ready there, how it draws its
//! victims (DDS §2, §3), which the simulator shares; how much it takes and when it looks again, which are about shared memory.

use crate::depend::Mode;

/// At which end of a victim's stack a thief begins to look.
///
/// The paper says both: a closure is stolen *from the bottom* (§2), stacks are scanned *from their top* (§4). The oldest
/// closures stand for the most work, so that a thief comes back seldom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// From the oldest frame on.
    #[default]
    Oldest,
    /// From the youngest frame on.
    Newest,
}

impl End {
    /// In which order a thief visits `frames` frames, which are numbered from the oldest on.
    ///
    /// ```
    /// use millpond::stack::policy::End;
    ///
    /// assert!(End::Oldest.visits(3).eq([0, 1, 2]));
    /// assert!(End::Newest.visits(3).eq([2, 1, 0]));
    /// ```
    pub fn visits(self, frames: usize) -> impl Iterator<Item = usize> {
        (0..frames).map(move |nth| match self {
            End::Oldest => nth,
            End::Newest => frames - 1 - nth,
        })
    }
}

/// A thief's choice of victims: uniform among the others, each thief with a sequence of its own.
///
/// ```
/// use millpond::stack::policy::Victims;
///
/// let mut victims = Victims::of_thief(2);
/// assert!((0..100).map(|_| victims.pick(4, 2)).all(|victim| victim < 4 && victim != 2));
/// ```
#[derive(Clone, Debug)]
pub struct Victims(u64);

impl Victims {
    /// The sequence of one thief.
    pub fn of_thief(thief: usize) -> Self {
        Victims((thief as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// One of `processors`, other than the thief `not` itself.
    ///
    /// # Panics
    ///
    /// If there are fewer than two.
    #[inline]
    pub fn pick(&mut self, processors: usize, not: usize) -> usize {
        assert!(processors > 1, "a thief needs somebody to steal from");
        // G. Marsaglia, *Xorshift RNGs*, 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let other = (((self.0 >> 32) * (processors as u64 - 1)) >> 32) as usize;
        if other >= not { other + 1 } else { other }
    }
}

/// What a theft must bring, in ticks of the clock (some 0.4 ns, as all times here), to be worth the time that it takes from its owner.
const WORTH: u64 = 2500;

/// How many closures a thief takes at once, at most, and how long they take: a visit costs the thief a barrier (10 µs and more), if
/// the owner is in a long body, or else the owner a walk.
const MOST: u64 = 128;
const TOGETHER: u64 = 1 << 17;

/// The least time between two looks of a thief, and the longest, in which it is idle.
const BRIEFLY: u64 = 1 << 10;
const LONGEST: u64 = 1 << 15;

/// How often a thief looks, and how much it takes, by what its looks were worth.
///
/// ```
/// use millpond::stack::policy::Appetite;
///
/// let mut appetite = Appetite::default();
/// // Tasks of 4 µs: it takes more of them the next time, and looks at once.
/// assert!(appetite.has_run(10_000) && appetite.several() == 2 && appetite.wish() == 2);
/// assert_eq!(appetite.pause_after(true), 0);
/// // Of shorter ones than it is worth an owner is asked for one, and not soon.
/// assert!(!appetite.has_run(100) && appetite.wish() == 1);
/// assert!(appetite.pause_after(false) < appetite.pause_after(false));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Appetite {
    several: u64,
    wish: u64,
    pause: u64,
}

impl Default for Appetite {
    fn default() -> Self {
        Appetite { several: 1, wish: 1, pause: BRIEFLY }
    }
}

impl Appetite {
    /// How many closures it takes at once where that costs their owner nothing: more and more while they are short.
    pub fn several(&self) -> u64 {
        self.several
    }

    /// How many it asks an owner for: one, if they are so short that an owner does them sooner than it gives them away.
    pub fn wish(&self) -> u64 {
        self.wish
    }

    /// A leaf that it has stolen has run, for so many ticks; whether that was worth its theft.
    pub fn has_run(&mut self, took: u64) -> bool {
        let as_many = (TOGETHER / took.max(1)).clamp(1, MOST);
        self.several = as_many.min(self.several * 2);
        let worth = took > WORTH;
        self.wish = if worth { self.several } else { 1 };
        worth
    }

    /// For how long it does not look after a look that was worth it, or was not: then each time for longer.
    pub fn pause_after(&mut self, worth: bool) -> u64 {
        self.pause = if worth { BRIEFLY } else { (self.pause * 2).min(LONGEST) };
        if worth { 0 } else { self.pause }
    }
}

/// After so many ticks a body is long: more than all that a visit costs its worker.
pub const LONG: u64 = 1 << 15;

/// What a theft costs a stack's owner: a walk, and a wait for what comes next and was stolen.
pub const THEFT: u64 = 1 << 12;

/// For so long who comes to a closure that is stolen waits until it leaves the stack: as long as it takes to leave one and to go on
/// with another.
pub const SOON: u64 = 1 << 13;

/// For how long thieves leave a stack alone whose owner has lost so many ticks to one in vain, or for too little: it loses a twentieth
/// of its time at most. But while it is in a [`LONG`] body it loses nothing.
#[inline]
pub fn rest_after(lost: u64) -> u64 {
    20 * lost
}

/// Which of the ready closures that were found a thief takes: all, or, if it spares what the owner comes to next, the second half.
///
/// ```
/// use millpond::stack::policy::share;
///
/// assert_eq!((share(5, false), share(6, true), share(1, true)), (0..5, 3..6, 0..1));
/// ```
#[inline]
pub fn share(found: usize, spares: bool) -> std::ops::Range<usize> {
    if spares { found / 2..found } else { 0..found }
}

/// Whether an access must wait for an earlier one of another task to the same datum, while that is unfinished.
///
/// ```
/// use millpond::depend::Mode;
/// use millpond::stack::policy::conflicts;
///
/// assert!(!conflicts(Mode::Read, Mode::Read));
/// assert!(conflicts(Mode::Write, Mode::Read) && conflicts(Mode::Read, Mode::Inout));
/// ```
#[inline]
pub fn conflicts(earlier: Mode, later: Mode) -> bool {
    earlier != later || !earlier.shares()
}
