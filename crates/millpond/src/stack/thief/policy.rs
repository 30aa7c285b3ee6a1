//! The pure functions of stealing, which the runtime and the simulator share ([DDS](crate#sources)
//! §2, §3): the end of a stack where a thief begins, which accesses conflict, and random victims.
//!
//! `search` says which stack a thief of the runtime scans first, and `adaptive` how much it takes.
//! A simulated thief draws a new victim for each request, as the runtime's does under
//! [`Theft::Paper`](crate::stack::Theft).

use crate::depend::Mode;
use crate::pool::random::{Draw, XorShift};
use crate::worker::config::End;

impl End {
    /// The order in which a thief visits `frames` frames. The oldest frame has number 0.
    ///
    /// ```
    /// use millpond::stack::End;
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

/// Draws one of the other processors, each with the same probability. Each thief has its own
/// sequence. A draw is the victim of a request, or the stack where a round begins.
///
/// ```
/// use millpond::internals::Victims;
///
/// let mut victims = Victims::of_thief(2);
/// assert!((0..100).map(|_| victims.pick(4, 2)).all(|victim| victim < 4 && victim != 2));
/// ```
#[derive(Clone, Debug)]
pub struct Victims(XorShift);

impl Victims {
    /// The sequence of thief number `thief`.
    pub fn of_thief(thief: usize) -> Self {
        Victims(XorShift::new(thief))
    }

    /// One of `processors`, but never the thief `not` itself.
    ///
    /// # Panics
    ///
    /// If there are fewer than two processors.
    #[inline]
    pub fn pick(&mut self, processors: usize, not: usize) -> usize {
        assert!(processors > 1, "a thief needs a victim");
        let other = self.0.below(processors - 1);
        if other >= not { other + 1 } else { other }
    }
}

/// Whether an access must wait for an unfinished earlier access of another task to the same datum.
///
/// ```
/// use millpond::depend::Mode;
/// use millpond::internals::conflicts;
///
/// assert!(!conflicts(Mode::Read, Mode::Read));
/// assert!(conflicts(Mode::Write, Mode::Read) && conflicts(Mode::Read, Mode::Inout));
/// ```
#[inline]
pub fn conflicts(earlier: Mode, later: Mode) -> bool {
    earlier != later || !earlier.shares()
}
