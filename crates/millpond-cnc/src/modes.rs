//! When a step starts, and how it waits ([FP](crate#sources) §III).

/// Which of the declared items a step waits for before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preconditions {
    /// None: a step starts when it is prescribed, and waits for each item where it gets it.
    Eager,
    /// All, and the step gets no others. It never waits after that, so it needs neither a stack nor
    /// memory of its own.
    Strict,
    /// The declared ones. The step waits for others where it gets them.
    #[default]
    Flexible,
}

/// How a step is kept while it waits for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocked {
    /// As a state machine, in a task's block: the step continues where it was. If the preconditions
    /// are flexible, the first step of a collection that waits is kept as with
    /// [`Fiber`](Blocked::Fiber). Until then the collection's steps need no block for their bodies,
    /// and cost as much as strict ones.
    #[default]
    Resume,
    /// On its stack, which is suspended.
    Fiber,
    /// Not at all: the step ends, and runs again from its start when the item was put. So it must
    /// get all its items before it puts an item or a tag, or uses up an item. Otherwise the graph
    /// fails with [`Kind::PutBeforeGet`](crate::Kind::PutBeforeGet). All other effects of the body
    /// are repeated.
    Replay,
}

/// How many of a step's preconditions it waits for, in the order in which it declares them: the
/// range between eager and flexible.
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
    /// Open tables of words, sharded by the hash. To make an item takes a lock; to find one takes
    /// no atomic read-modify-write.
    #[default]
    Open,
    /// Tables under locks, sharded by the hash.
    Sharded,
    /// A split-ordered list ([FP](crate#sources) §V): no locks, and nothing moves when it grows.
    SplitOrdered,
}

/// The settings of a step collection, and the defaults of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// When a step starts.
    pub preconditions: Preconditions,
    /// How a step is kept while it waits.
    pub blocked: Blocked,
    /// How many preconditions a step waits for.
    pub limit: Limit,
    /// How items are found by hashed keys.
    pub table: Table,
    /// Whether each get of a step is compared with its declarations. With this, an error does not
    /// depend on which item is late. By default this is on in debug builds, and off in optimized
    /// ones.
    ///
    /// - A strict step that gets an undeclared item fails with
    ///   [`Kind::Undeclared`](crate::Kind::Undeclared). Without this it fails only if the item is
    ///   late.
    /// - A step under [`Blocked::Replay`] that has put something, and then gets an item that may be
    ///   late, fails with [`Kind::PutBeforeGet`](crate::Kind::PutBeforeGet). An item is never late
    ///   if the step waited for it before it began, or has got it before.
    ///
    /// Other steps may get undeclared items, and are not checked. The cost: the preconditions are
    /// asked once more for each step, and each get looks its item up among them.
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

    /// Whether a step that waits runs again from its start.
    pub(crate) fn replays(self) -> bool {
        self.preconditions != Preconditions::Strict && self.blocked == Blocked::Replay
    }

    /// The number of preconditions that a step waits for.
    pub(crate) fn most(self) -> usize {
        match (self.preconditions, self.limit) {
            (Preconditions::Eager, _) => 0,
            (Preconditions::Flexible, Limit::First(most)) => most,
            _ => usize::MAX,
        }
    }
}
