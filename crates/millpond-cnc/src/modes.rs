//! When a step starts, and how it waits ([FP](crate#sources) §III).

/// The declared items for which a step waits before its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preconditions {
    /// None: a step starts when it is prescribed, and waits for items where it gets them.
    Eager,
    /// All, and the step gets no others. It never waits after its start, so it needs neither its
    /// own stack nor its own memory.
    Strict,
    /// The declared ones. The step waits for others where it gets them.
    #[default]
    Flexible,
}

/// The form of a step that waits for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocked {
    /// A state machine in a task's block. The step continues where it was. Under flexible
    /// preconditions, a collection's first waiting step is kept as with [`Fiber`](Blocked::Fiber).
    /// Until then, its steps need no block for their bodies, and cost as much as strict ones.
    #[default]
    Resume,
    /// Its suspended stack.
    Fiber,
    /// None: the step ends, and runs again from its start when the item has been put. So it must
    /// get all its items before it puts an item or a tag, or uses up an item. Otherwise the graph
    /// fails with [`Kind::PutBeforeGet`](crate::Kind::PutBeforeGet). All other effects of the body
    /// are repeated.
    Replay,
}

/// The number of preconditions for which a step waits, in the order of their declaration: the range
/// between eager and flexible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// All.
    #[default]
    All,
    /// The first ones, up to this number.
    First(usize),
}

/// How a collection finds items by hashed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Table {
    /// Open tables of words, sharded by the hash. Making an item takes a lock. Finding one takes no
    /// atomic read-modify-write.
    #[default]
    Open,
    /// Tables under locks, sharded by the hash.
    Sharded,
    /// A split-ordered list ([FP](crate#sources) §V): no locks, and growth moves no entry.
    SplitOrdered,
}

/// The settings of a step collection, and the defaults of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// When a step starts.
    pub preconditions: Preconditions,
    /// The form of a waiting step.
    pub blocked: Blocked,
    /// The number of preconditions for which a step waits.
    pub limit: Limit,
    /// How items are found by hashed keys.
    pub table: Table,
    /// Whether each get of a step is compared with its declarations. With this, errors do not
    /// depend on which item is late. The default is on in debug builds, and off in optimized ones.
    ///
    /// - A strict step that gets an undeclared item fails with
    ///   [`Kind::Undeclared`](crate::Kind::Undeclared); without the check, only if the item is
    ///   late.
    /// - A step under [`Blocked::Replay`] that has put or used up something, and then gets an item
    ///   that may be late, fails with [`Kind::PutBeforeGet`](crate::Kind::PutBeforeGet). Items that
    ///   it awaited before it began, or got before, are never late.
    ///
    /// Other steps may get undeclared items, and are not checked. The cost: the preconditions of
    /// each step are computed once more, and each get searches them for its item.
    pub check_gets: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            preconditions: Preconditions::default(),
            blocked: Blocked::default(),
            limit: Limit::default(),
            table: Table::default(),
            check_gets: cfg!(debug_assertions),
        }
    }
}

impl Settings {
    /// Whether the gets of a step are checked.
    pub(crate) fn checks(self) -> bool {
        self.check_gets && (self.preconditions == Preconditions::Strict || self.replays())
    }

    /// Whether a waiting step runs again from its start.
    pub(crate) fn replays(self) -> bool {
        self.preconditions != Preconditions::Strict && self.blocked == Blocked::Replay
    }

    /// The number of awaited preconditions.
    pub(crate) fn most(self) -> usize {
        match (self.preconditions, self.limit) {
            (Preconditions::Eager, _) => 0,
            (Preconditions::Flexible, Limit::First(most)) => most,
            _ => usize::MAX,
        }
    }
}
