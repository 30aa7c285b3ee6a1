//! The members of each family, as rows that a command lists and tests iterate over. Also runtimes
//! whose parts are selected by name ([`AnyRuntime`], [`Registry`]). Cargo feature `catalogue`.

pub(crate) mod engine;
mod registry;
mod runtime;

pub use self::registry::{Registry, RegistryError};
pub use self::runtime::AnyRuntime;
use crate::depend::{AnyScheme, Mode, Scheme};
use crate::memory::Memory;
use crate::memory::variants as managers;
use crate::pool::Pool;
use crate::pool::variants as pools;
use crate::runtime::engine::DEFAULT_SCHEME;
use crate::{DefaultMemory, DefaultPool, StackEngine};

/// One member of a family.
///
/// ```
/// use millpond::{DefaultPool, catalogue, pool::Pool};
///
/// let row = catalogue::POOLS.iter().find(|row| row.name == DefaultPool::NAME).unwrap();
/// assert_eq!(row.honours_priority, Some(true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name that selects it on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// The source that describes it.
    pub source: &'static str,
    /// For a pool: whether priorities change the order in which tasks are taken.
    pub honours_priority: Option<bool>,
    /// For a scheme: the cost of an issue and a release, in words.
    pub complexity: Option<&'static str>,
    /// For a scheme: the access modes that it orders.
    pub modes: Option<&'static [Mode]>,
    /// For a memory manager or a pool: its parts, by the column names of the paper's tables.
    pub columns: &'static [(&'static str, &'static str)],
    /// For a pool: the field names of the [`Params`](crate::pool::params::Params) that it supports.
    /// For a memory manager: those of its [`Params`](crate::memory::params::Params).
    pub params: &'static [&'static str],
}

impl Row {
    const fn new(name: &'static str, summary: &'static str, source: &'static str) -> Row {
        let (columns, params): (&[_], &[_]) = (&[], &[]);
        Row { name, summary, source, honours_priority: None, complexity: None, modes: None, columns, params }
    }

    /// A row for your own scheme. You can change its fields.
    pub const fn of_scheme<D: Scheme>(summary: &'static str, source: &'static str) -> Row {
        Row { modes: Some(D::MODES), ..Row::new(D::NAME, summary, source) }
    }

    /// A row for your own pool.
    pub const fn of_pool<P: Pool>(summary: &'static str, source: &'static str) -> Row {
        Row { honours_priority: Some(P::HONOURS_PRIORITY), ..Row::new(P::NAME, summary, source) }
    }

    /// A row for your own memory manager.
    pub const fn of_memory<M: Memory>(summary: &'static str, source: &'static str) -> Row {
        Row::new(M::NAME, summary, source)
    }
}

/// The names of a runtime's parts. By default, each is the default part.
///
/// ```
/// use millpond::catalogue::Names;
///
/// // Each member of each family, with defaults for the others.
/// assert!(Names::star().any(|names| names == Names { memory: "dgbkof", ..Names::default() }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// A name in [`SCHEMES`].
    pub scheme: &'a str,
    /// A name in [`POOLS`].
    pub pool: &'a str,
    /// A name in [`MEMORY`].
    pub memory: &'a str,
}

impl Default for Names<'static> {
    fn default() -> Self {
        Names { scheme: DEFAULT_SCHEME, pool: DefaultPool::NAME, memory: DefaultMemory::NAME }
    }
}

impl Names<'static> {
    /// Yields each member of each family, with the defaults for the other families. The combination
    /// of all defaults comes once, first.
    pub fn star() -> impl Iterator<Item = Self> {
        // The stack accepts no other pool and no other memory manager.
        let scheme = if DEFAULT_SCHEME == StackEngine::NAME { SCHEMES[0].name } else { DEFAULT_SCHEME };
        let (schemes, with) = (SCHEMES.iter(), Names { scheme, ..Names::default() });
        let schemes = schemes.map(|row| Names { scheme: row.name, ..Names::default() });
        let pools = POOLS.iter().map(move |row| Names { pool: row.name, ..with });
        let memory = MEMORY.iter().map(move |row| Names { memory: row.name, ..with });
        let away = schemes.chain(pools).chain(memory).filter(move |names| *names != Names::default());
        std::iter::once(Names::default()).chain(away)
    }

    /// Yields every combination of members: each scheme with each pool and each memory manager. The
    /// stack comes once, because it has only its own parts.
    ///
    /// ```
    /// use millpond::catalogue::{MEMORY, Names, POOLS, SCHEMES};
    ///
    /// assert_eq!(Names::all().count(), (SCHEMES.len() - 1) * POOLS.len() * MEMORY.len() + 1);
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        let cube = |scheme| {
            POOLS.iter().flat_map(move |pool| {
                MEMORY.iter().map(move |memory| Names { scheme, pool: pool.name, memory: memory.name })
            })
        };
        let stack = Names { scheme: StackEngine::NAME, pool: DefaultPool::NAME, memory: DefaultMemory::NAME };
        let schemes = SCHEMES.iter().map(|row| row.name).filter(|name| *name != StackEngine::NAME);
        schemes.flat_map(cube).chain([stack])
    }
}

impl std::fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Names { scheme, pool, memory } = self;
        write!(f, "scheme {scheme}, pool {pool}, memory {memory}")
    }
}

/// The memory managers, which provide task blocks. The first is the default.
pub const MEMORY: &[Row] = &memory();

const fn memory() -> [Row; 1 + managers::ROWS.len()] {
    let ours = Row {
        columns: &[
            ("free lists", "distributed, and a way home for what others freed"),
            ("items", "no"),
            ("memory allocation", "blocks for some elements, more each time"),
            ("block handling", "elements are removed when needed"),
            ("locking", "-"),
        ],
        ..Row::new(DefaultMemory::NAME, "slabs of each worker; blocks freed elsewhere go home in batches", "millpond")
    };
    let mut rows = [ours; 1 + managers::ROWS.len()];
    let mut at = 0;
    while at < managers::ROWS.len() {
        let managers::Row { name, columns, params, .. } = managers::ROWS[at];
        at += 1;
        rows[at] = Row { name, summary: "a composition of the paper's", source: "TP Table 1", columns, params, ..ours };
    }
    rows
}

/// The pools, which hold ready tasks. The first is the default.
pub const POOLS: &[Row] = &pools();

const fn pools() -> [Row; 1 + pools::ROWS.len()] {
    let ours = Row {
        honours_priority: Some(DefaultPool::HONOURS_PRIORITY),
        columns: &[
            ("type", "stealing"),
            ("details", "private and public parts, from the opposite end"),
            ("queues", "arrays"),
            ("access", "LIFO, by priority"),
            ("memory allocation", "at the start, more when needed"),
            ("locking", "-"),
            ("wake-up", "when others find something again"),
        ],
        ..Row::new(
            DefaultPool::NAME,
            "lock-free deques, split into a private and a public part; a queue for positive priorities",
            "millpond",
        )
    };
    let mut rows = [ours; 1 + pools::ROWS.len()];
    let mut at = 0;
    while at < pools::ROWS.len() {
        let pools::Row { name, columns, params, .. } = pools::ROWS[at];
        at += 1;
        let (summary, source) = ("a composition of the paper's", "TP Tables 2 and 3");
        rows[at] = Row { name, summary, source, honours_priority: Some(false), columns, params, ..ours };
    }
    rows
}

/// The schemes, which decide when a task is ready. The first is the default. The last is the stack:
/// a separate engine without the two other parts.
pub const SCHEMES: &[Row] = &schemes();

const fn schemes() -> [Row; TRACKERS.len() + 1] {
    let stack = Row {
        complexity: Some("push and pop O(accesses); a steal O(accesses of the tasks that the thief looks at)"),
        modes: Some(Mode::ALL),
        ..Row::new(
            StackEngine::NAME,
            "bodies hold their tasks in frames and run them in order; a thief works out what is ready",
            "DDS section 3",
        )
    };
    let mut rows = [stack; TRACKERS.len() + 1];
    let mut at = 0;
    while at < TRACKERS.len() {
        rows[at] = TRACKERS[at].0;
        at += 1;
    }
    rows
}

/// The schemes without the stack: the row of each, and its run-time choice.
const TRACKERS: &[(Row, AnyScheme)] = &[
    tracker::<crate::depend::Parked>(
        "millpond, after TG section 4.4",
        "issue O(1), release O(1), and O(accesses) a woken task in all",
        "a task waits at one place at a time, at the generation before its first unmet access",
    ),
    tracker::<crate::depend::Graph>(
        "TG section 4.1, Fig. 2",
        "generations of M and N: issue O(MN), release O((M+N)^2)",
        "an edge from every access to all of the next generation; lists in nodes of their own",
    ),
    tracker::<crate::depend::EmbeddedGraph>(
        "TG section 4.1.1",
        "generations of M and N: issue and release O(MN)",
        "as graph, with lists through the tags of the accesses",
    ),
    tracker::<crate::depend::Hypergraph>(
        "TG section 4.2, Fig. 3",
        "issue O(1), release O(1) amortised",
        "an edge from generation to generation; lists in nodes of their own",
    ),
    tracker::<crate::depend::EmbeddedHypergraph>(
        "TG section 4.2",
        "issue O(1), release O(1) amortised",
        "as hypergraph, with lists through the accesses",
    ),
    tracker::<crate::depend::List>(
        "TG section 4.3, Fig. 4",
        "issue O(1), release O(1)",
        "all that wait for a version on one ordered list, generation after generation; one lock",
    ),
    tracker::<crate::depend::TwoLocks>(
        "TG section 4.3",
        "issue O(1), release O(1)",
        "as list, with a lock for the oldest generation and one for the youngest",
    ),
    tracker::<crate::depend::Tickets>(
        "TG section 4.4, Fig. 5",
        "issue, release and the look at one access O(1); to find the one that is ready O(tasks that wait)",
        "counters instead of edges; idle workers search a pool of waiting tasks by depth",
    ),
];

const fn tracker<D: Scheme>(source: &'static str, complexity: &'static str, summary: &'static str) -> (Row, AnyScheme) {
    (Row { complexity: Some(complexity), ..Row::of_scheme::<D>(summary, source) }, AnyScheme::of::<D>())
}
