//! How a task accesses a datum.

/// The access mode, as a scheme sees it: how the members of a generation run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// `read`: members run at once.
    Read = 1,
    /// `write`: alone in its generation and first of its version, so it never waits
    /// ([TG](crate#sources) §3.3). If it goes in place while the value is in use, it is ordered
    /// like an `inout`.
    Write = 2,
    /// `inout`: alone in its generation.
    Inout = 3,
    /// `commutative`: members run in any order. The runtime handles the exclusion, not the scheme
    /// ([TG](crate#sources) §3.2, "none(x)").
    Commutative = 4,
    /// `concurrent`: members run at once.
    Concurrent = 5,
    /// `reduce`: members run at once, on private copies ([TG](crate#sources) §3.2, "none(r)").
    Reduce = 6,
}

impl Mode {
    /// All modes.
    pub const ALL: &[Mode] = &[Mode::Read, Mode::Write, Mode::Inout, Mode::Commutative, Mode::Concurrent, Mode::Reduce];

    /// Whether consecutive accesses of this mode form one generation ([TG](crate#sources) §3.2).
    ///
    /// ```
    /// use millpond::depend::Mode;
    ///
    /// assert!(Mode::Read.shares() && Mode::Commutative.shares());
    /// assert!(!Mode::Inout.shares());
    /// ```
    #[inline]
    pub fn shares(self) -> bool {
        !matches!(self, Mode::Write | Mode::Inout)
    }

    /// Whether one task may declare two accesses of this mode to one datum. The scheme gets both,
    /// one after the other, as members of one generation.
    ///
    /// ```
    /// use millpond::depend::Mode;
    ///
    /// let repeat: Vec<_> = Mode::ALL.iter().filter(|mode| mode.repeats()).collect();
    /// assert_eq!(repeat, [&Mode::Read, &Mode::Concurrent]);
    /// ```
    #[inline]
    pub fn repeats(self) -> bool {
        matches!(self, Mode::Read | Mode::Concurrent)
    }

    /// The mode with this number.
    #[inline]
    pub(crate) fn of(number: u32) -> Mode {
        match number {
            1 => Mode::Read,
            2 => Mode::Write,
            3 => Mode::Inout,
            4 => Mode::Commutative,
            5 => Mode::Concurrent,
            _ => Mode::Reduce,
        }
    }
}

/// The keyword that declares an access of this mode.
///
/// ```
/// assert_eq!(millpond::depend::Mode::Inout.to_string(), "inout");
/// ```
impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mode::Read => "read",
            Mode::Write => "write",
            Mode::Inout => "inout",
            Mode::Commutative => "commutative",
            Mode::Concurrent => "concurrent",
            Mode::Reduce => "reduce",
        })
    }
}
