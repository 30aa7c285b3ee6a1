//! At which end of a stack a thief begins, what is ready there, and random numbers for the choice of victims: pure functions, which
//! the runtime and the simulator share ([DDS](crate#sources) §2, §3). Whom a thief of the runtime asks first, and how much it
//! takes, is in `thief` and `steal_policy`; a simulated one asks one of the others, drawn anew for each request.

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

/// Draws one of the others, all alike, each thief with a sequence of its own: the victim of a request, or where a round begins.
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
