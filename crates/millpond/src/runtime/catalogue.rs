//! The members of each family, as rows: what a command lists and a test walks.
//!
//! A dependence scheme is one line of the table at the end, from which come its row, its place in [`AnyRuntime`] and
//! its arms in [`with_scheme!`](crate::with_scheme) and [`on_runtime!`](crate::on_runtime).

use super::engine::{DefaultMemory, DefaultPool, DefaultScheme};
use super::{BuildError, Builder, Runtime};
use crate::depend::{Mode, Scheme};
use crate::memory::Memory;
use crate::memory::variants::{self as managers, AnyMemory};
use crate::pool::variants::{self as pools, AnyPool};
use crate::pool::{Pool, params::Params};

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
    /// The name by which the command line chooses it.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Of a pool: whether priorities change the order in which tasks are taken.
    pub honours_priority: Option<bool>,
    /// Of a scheme: what an issue and a release cost, in words.
    pub complexity: Option<&'static str>,
    /// Of a scheme: the access modes that it orders.
    pub modes: Option<&'static [Mode]>,
    /// Of a memory manager or a pool: its parts, as the columns of the paper's tables name them.
    pub columns: &'static [(&'static str, &'static str)],
}

/// The parts of a runtime by their names; by default, each the default one.
///
/// ```
/// use millpond::catalogue::Names;
///
/// // Each member of each family, the others being the default ones.
/// assert!(Names::star().any(|names| names == Names { memory: "dgbkof", ..Names::default() }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// Of [`SCHEMES`].
    pub scheme: &'a str,
    /// Of [`POOLS`].
    pub pool: &'a str,
    /// Of [`MEMORY`].
    pub memory: &'a str,
}

impl Default for Names<'static> {
    fn default() -> Self {
        Names { scheme: DefaultScheme::NAME, pool: DefaultPool::NAME, memory: DefaultMemory::NAME }
    }
}

impl Names<'static> {
    /// Each member of each family with the others at their defaults; all defaults once, first.
    pub fn star() -> impl Iterator<Item = Self> {
        let schemes = SCHEMES.iter().map(|row| Names { scheme: row.name, ..Names::default() });
        let pools = POOLS.iter().map(|row| Names { pool: row.name, ..Names::default() });
        let memory = MEMORY.iter().map(|row| Names { memory: row.name, ..Names::default() });
        let away = schemes.chain(pools).chain(memory).filter(|names| *names != Names::default());
        std::iter::once(Names::default()).chain(away)
    }
}

impl std::fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Names { scheme, pool, memory } = self;
        write!(f, "scheme {scheme}, pool {pool}, memory {memory}")
    }
}

/// What a message calls a family.
const SCHEME_FAMILY: &str = "scheme";
const POOL_FAMILY: &str = "pool";
const MEMORY_FAMILY: &str = "memory manager";

impl BuildError {
    fn no_such(family: &'static str, given: &str) -> Self {
        let members = match family {
            SCHEME_FAMILY => SCHEMES,
            POOL_FAMILY => POOLS,
            _ => MEMORY,
        };
        BuildError::NoSuch { family, given: given.to_owned(), valid: members.iter().map(|row| row.name).collect() }
    }
}

/// Where task blocks come from; the first is the default.
pub const MEMORY: &[Row] = &memory();

const fn memory() -> [Row; 1 + managers::ROWS.len()] {
    let ours = Row {
        name: DefaultMemory::NAME,
        summary: "slabs of each worker; blocks freed elsewhere go home in batches",
        source: "millpond",
        honours_priority: None,
        complexity: None,
        modes: None,
        columns: &[
            ("free lists", "distributed, and a way home for what others freed"),
            ("items", "no"),
            ("memory allocation", "blocks for some elements, more each time"),
            ("block handling", "elements are removed when needed"),
            ("locking", "-"),
        ],
    };
    let mut rows = [ours; 1 + managers::ROWS.len()];
    let mut at = 0;
    while at < managers::ROWS.len() {
        let managers::Row { name, columns, .. } = managers::ROWS[at];
        at += 1;
        rows[at] = Row { name, summary: "a composition of the paper's", source: "TP Table 1", columns, ..ours };
    }
    rows
}

/// Where ready tasks wait; the first is the default.
pub const POOLS: &[Row] = &pools();

const fn pools() -> [Row; 1 + pools::ROWS.len()] {
    let ours = Row {
        name: DefaultPool::NAME,
        summary: "lock-free deques, split into a private and a public part; a lane for positive priorities",
        source: "millpond",
        honours_priority: Some(DefaultPool::HONOURS_PRIORITY),
        complexity: None,
        modes: None,
        columns: &[
            ("type", "stealing"),
            ("details", "private and public parts, from the opposite end"),
            ("queues", "arrays"),
            ("access", "LIFO, by priority"),
            ("memory allocation", "at the start, more when needed"),
            ("locking", "-"),
            ("wake-up", "when others find something again"),
        ],
    };
    let mut rows = [ours; 1 + pools::ROWS.len()];
    let mut at = 0;
    while at < pools::ROWS.len() {
        let pools::Row { name, columns } = pools::ROWS[at];
        at += 1;
        let (summary, source) = ("a composition of the paper's", "TP Tables 2 and 3");
        rows[at] = Row { name, summary, source, honours_priority: Some(false), columns, ..ours };
    }
    rows
}

/// Makes everything of the table below that names every scheme. `$d` is a dollar sign, for the macros that it makes.
macro_rules! schemes {
    ($d:tt $($file:ident :: $scheme:ident, $name:literal, $source:literal, $complexity:literal, $summary:literal;)*) => {
        /// When a task is ready; the first is the default.
        pub const SCHEMES: &[Row] = &[$(Row {
            name: {
                assert!(is_same($crate::depend::$file::$scheme::NAME, $name));
                $name
            },
            summary: $summary,
            source: $source,
            honours_priority: None,
            complexity: Some($complexity),
            modes: Some(<$crate::depend::$file::$scheme as Scheme>::MODES),
            columns: &[],
        }),*];

        /// A runtime whose parts were chosen by name, at run time.
        ///
        /// What is done with one is compiled once a scheme, and chosen between by [`on_runtime!`](crate::on_runtime):
        /// a task costs what it costs on a [`Runtime`] whose scheme the program names. It is compiled once more for all
        /// pools and memory managers of the paper, between which each call of theirs chooses.
        ///
        /// ```
        /// use millpond::catalogue::{AnyRuntime, Names};
        /// use millpond::{Runtime, Spawn, on_runtime};
        ///
        /// let list = Names { scheme: "list", ..Names::default() };
        /// let any = AnyRuntime::build(Runtime::builder().workers(2), list)?;
        /// let six = on_runtime!(&any, rt => rt.scope(|s| s.wait(s.spawn((), |()| 6))))??;
        /// assert_eq!((any.names(), six), (list, 6));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Debug)]
        pub enum AnyRuntime {
            $(#[doc = concat!("Of the scheme `", $name, "`.")]
            $scheme(Runtime<DefaultMemory, DefaultPool, $crate::depend::$file::$scheme>),)*
            /// Of a pool or a memory manager of the paper's, or both, with the default scheme.
            Named(Runtime<AnyMemory, AnyPool, DefaultScheme>),
        }

        impl AnyRuntime {
            /// Builds a runtime of the parts of these names.
            ///
            /// # Errors
            ///
            /// As [`Builder::build`]; [`BuildError::NoSuch`], which names the valid ones; and
            /// [`BuildError::TwoFamilies`], if both the scheme and another part differ from the default.
            pub fn build(builder: Builder, names: Names<'_>) -> Result<Self, BuildError> {
                Self::build_of(builder, names, Params::default())
            }

            /// As [`build`](AnyRuntime::build), with parameters of the paper's pools.
            ///
            /// # Errors
            ///
            /// As [`build`](AnyRuntime::build).
            pub fn build_of(builder: Builder, names: Names<'_>, params: Params) -> Result<Self, BuildError> {
                let Names { scheme, pool, memory } = names;
                if (pool, memory) == (DefaultPool::NAME, DefaultMemory::NAME) {
                    return match scheme {
                        $($name => builder.build_with().map(AnyRuntime::$scheme),)*
                        _ => Err(BuildError::no_such(SCHEME_FAMILY, scheme)),
                    };
                }
                let its_pool = pools::Chosen::of(pool, params).ok_or_else(|| BuildError::no_such(POOL_FAMILY, pool))?;
                let its_memory = managers::Chosen::of(memory).ok_or_else(|| BuildError::no_such(MEMORY_FAMILY, memory))?;
                if scheme != DefaultScheme::NAME {
                    let other = if pool == DefaultPool::NAME { memory } else { pool };
                    return Err(BuildError::TwoFamilies { names: [scheme.to_owned(), other.to_owned()] });
                }
                builder.build_of(its_memory, its_pool).map(AnyRuntime::Named)
            }

            /// The names of its parts.
            pub fn names(&self) -> Names<'static> {
                let default = Names::default();
                match self {
                    $(AnyRuntime::$scheme(_) => Names { scheme: $name, ..default },)*
                    AnyRuntime::Named(runtime) => {
                        let (pool, memory) = (runtime.pool_choice().name(), runtime.memory_choice().name());
                        Names { pool, memory, ..default }
                    }
                }
            }
        }

        /// Evaluates an expression with a type alias for the scheme of a name: `with_scheme!(name, D => …)` is `Some`
        /// of it, or `None` if there is no such scheme. The expression is compiled once a scheme.
        ///
        /// ```
        /// use millpond::depend::Scheme;
        ///
        /// assert_eq!(millpond::with_scheme!("list", D => D::NAME), Some("list"));
        /// assert_eq!(millpond::with_scheme!("lists", D => D::NAME), None);
        /// ```
        #[macro_export]
        macro_rules! with_scheme {
            ($d name:expr, $d D:ident => $d body:expr) => {
                match $d name {
                    $($name => {
                        type $d D = $d crate::depend::$file::$scheme;
                        Some($d body)
                    })*
                    _ => None,
                }
            };
        }

        /// Evaluates an expression with the runtime in an [`AnyRuntime`](crate::catalogue::AnyRuntime): `on_runtime!(any,
        /// rt => …)`, where `any` is a reference. The expression is compiled once a scheme, and once for all pools and memory
        /// managers of the paper.
        ///
        /// ```
        /// # use millpond::{Runtime, catalogue::{AnyRuntime, Names}, on_runtime};
        /// let any = AnyRuntime::build(Runtime::builder().workers(3), Names::default())?;
        /// assert_eq!(on_runtime!(&any, rt => rt.workers()), 3);
        /// # Ok::<(), millpond::BuildError>(())
        /// ```
        #[macro_export]
        macro_rules! on_runtime {
            ($d any:expr, $d rt:ident => $d body:expr) => {
                match $d any {
                    $($d crate::catalogue::AnyRuntime::$scheme($d rt) => $d body,)*
                    $d crate::catalogue::AnyRuntime::Named($d rt) => $d body,
                }
            };
        }

        /// As [`on_runtime!`](crate::on_runtime), for a runtime of the default pool and memory manager; the expression is
        /// not compiled for others, with which this panics.
        ///
        /// ```
        /// # use millpond::{Runtime, catalogue::{AnyRuntime, Names}, on_scheme};
        /// let any = AnyRuntime::build(Runtime::builder().workers(3), Names::default())?;
        /// assert_eq!(on_scheme!(&any, rt => rt.workers()), 3);
        /// # Ok::<(), millpond::BuildError>(())
        /// ```
        #[macro_export]
        macro_rules! on_scheme {
            ($d any:expr, $d rt:ident => $d body:expr) => {
                match $d any {
                    $($d crate::catalogue::AnyRuntime::$scheme($d rt) => $d body,)*
                    _ => panic!("another pool or memory manager than the default one"),
                }
            };
        }
    };
}

/// Whether two names are the same, where they are compiled.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut same = a.len() == b.len();
    let mut at = 0;
    while same && at < a.len() {
        same = a[at] == b[at];
        at += 1;
    }
    same
}

schemes! { $
    parked::Parked, "parked", "millpond, after TG section 4.4",
        "issue O(1), release O(1), and O(accesses) a woken task in all",
        "a task waits at one place at a time, at the generation before its first unmet access";
    graph::Graph, "graph", "TG section 4.1, Fig. 2",
        "generations of M and N: issue O(MN), release O((M+N)^2)",
        "an edge from every access to all of the next generation; lists in nodes of their own";
    graph::EmbeddedGraph, "embedded-graph", "TG section 4.1.1",
        "generations of M and N: issue and release O(MN)",
        "as graph, with lists through the accesses";
    hypergraph::Hypergraph, "hypergraph", "TG section 4.2, Fig. 3",
        "issue O(1), release O(1) amortised",
        "an edge from generation to generation; lists in nodes of their own";
    hypergraph::EmbeddedHypergraph, "embedded-hypergraph", "TG section 4.2",
        "issue O(1), release O(1) amortised",
        "as hypergraph, with lists through the accesses";
    list::List, "list", "TG section 4.3, Fig. 4",
        "issue O(1), release O(1)",
        "all that wait for a version on one ordered list, generation after generation; one lock";
    two_locks::TwoLocks, "two-lock-list", "TG section 4.3",
        "issue O(1), release O(1)",
        "as list, with a lock for the oldest generation and one for the youngest";
    tickets::Tickets, "tickets", "TG section 4.4, Fig. 5",
        "issue, release and the look at one access O(1); to find the one that is ready O(tasks that wait)",
        "counters instead of edges; idle workers search a pool of waiting tasks by depth";
    stack::Stack, "stack", "DDS section 3",
        "push and pop O(accesses); a theft O(accesses of the tasks that the thief looks at)",
        "bodies hold their tasks in frames and run them in order; who steals works out what is ready";
}
