//! When a step starts, and how it is kept while it waits ([FP](crate#sources) §III).

/// Which of the items that a step says it needs are waited for before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preconditions {
    /// None: a step starts when it is prescribed, and waits for each item where it gets it.
    Eager,
    /// All, and the step gets no others: it never waits, so it needs neither a stack nor memory of its own.
    Strict,
    /// Those that were said; the step waits for the others where it gets them.
    #[default]
    Flexible,
}

/// How a step is kept that waits for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocked {
    /// As a state machine, in a task's block: it goes on where it was. The first that waits of a collection whose
    /// preconditions are flexible is kept as with [`Fiber`](Blocked::Fiber): as long as none has waited, its steps need no
    /// block for their bodies, and cost what strict ones cost.
    #[default]
    Resume,
    /// On its stack, which is put aside.
    Fiber,
    /// Not at all: it ends, and runs again from its start when the item is there. So it gets all that it gets before it
    /// puts an item or a tag, or uses up an item: otherwise the graph fails with
    /// [`Kind::PutBeforeGet`](crate::Kind::PutBeforeGet). What else the body does, it does again.
    Replay,
}

/// How many of a step's preconditions are taken, in the order in which it says them: the space between eager and flexible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// All.
    #[default]
    All,
    /// The first ones.
    First(usize),
}

/// How the items of a collection are found by hashed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Table {
    /// Open tables of words, by shards of the hash: who makes an item takes a lock, and who finds one no
    /// atomic read-modify-write.
    #[default]
    Open,
    /// Tables under locks, by shards of the hash.
    Sharded,
    /// A split-ordered list ([FP](crate#sources) §V): no locks, and nothing is moved when it grows.
    SplitOrdered,
}

/// The choices for a step collection, and those that a graph starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// When a step starts.
    pub preconditions: Preconditions,
    /// How it is kept while it waits.
    pub blocked: Blocked,
    /// How many preconditions are taken.
    pub limit: Limit,
    /// How items are found by hashed keys.
    pub table: Table,
    /// Whether each get of a step is compared with what the step declares, so that an error does not depend on which item is
    /// late. By default this is on in debug builds, and off in optimized ones.
    ///
    /// - A strict step that gets an item which it has not declared fails with
    ///   [`Kind::Undeclared`](crate::Kind::Undeclared). Without this it fails only if the item is late.
    /// - A step under [`Blocked::Replay`] fails with [`Kind::PutBeforeGet`](crate::Kind::PutBeforeGet) if it gets an item that
    ///   may be late after it has put something. An item is never late if the step has waited for it before it began, or has
    ///   got it before.
    ///
    /// Other steps may get what they have not declared, and are not checked. The cost: preconditions are asked once more for
    /// each step, and each get looks its item up in what they said.
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

    /// How many preconditions are waited for.
    pub(crate) fn most(self) -> usize {
        match (self.preconditions, self.limit) {
            (Preconditions::Eager, _) => 0,
            (Preconditions::Flexible, Limit::First(most)) => most,
            _ => usize::MAX,
        }
    }
}
