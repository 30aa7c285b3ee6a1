//! The members of each family, as rows: what a command lists and a test walks.
//!
//! A dependence scheme is one line of the table at the end, from which come its row, its place in [`AnyRuntime`] and
//! its arms in [`with_scheme!`](crate::with_scheme) and [`on_runtime!`](crate::on_runtime).

use super::engine::{DefaultMemory, DefaultPool};
use super::{BuildError, Builder, Runtime};
use crate::depend::{Mode, Scheme};
use crate::memory::Memory;
use crate::pool::Pool;

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
}

/// Where task blocks come from.
pub const MEMORY: &[Row] = &[Row {
    name: DefaultMemory::NAME,
    summary: "per-worker slabs by size class; blocks freed elsewhere go home in batches",
    source: "millpond",
    honours_priority: None,
    complexity: None,
    modes: None,
}];

/// Where ready tasks wait.
pub const POOLS: &[Row] = &[Row {
    name: DefaultPool::NAME,
    summary: "lock-free deques, split into a private and a public part; a lane for positive priorities",
    source: "millpond",
    honours_priority: Some(DefaultPool::HONOURS_PRIORITY),
    complexity: None,
    modes: None,
}];

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
        }),*];

        /// A runtime whose dependence scheme was chosen by name, at run time.
        ///
        /// What is done with one is compiled once a scheme, and chosen between by [`on_runtime!`](crate::on_runtime):
        /// a task costs what it costs on a [`Runtime`] whose scheme the program names.
        ///
        /// ```
        /// use millpond::catalogue::AnyRuntime;
        /// use millpond::{Runtime, Spawn, on_runtime};
        ///
        /// let any = AnyRuntime::build(Runtime::builder().workers(2), "list")?;
        /// let six = on_runtime!(&any, rt => rt.scope(|s| s.wait(s.spawn((), |()| 6))))??;
        /// assert_eq!((any.scheme(), six), ("list", 6));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Debug)]
        pub enum AnyRuntime {
            $(#[doc = concat!("Of the scheme `", $name, "`.")]
            $scheme(Runtime<DefaultMemory, DefaultPool, $crate::depend::$file::$scheme>),)*
        }

        impl AnyRuntime {
            /// Builds a runtime of the scheme of that name.
            ///
            /// # Errors
            ///
            /// As [`Builder::build`], and [`BuildError::NoScheme`], which names the valid ones.
            pub fn build(builder: Builder, scheme: &str) -> Result<Self, BuildError> {
                match scheme {
                    $($name => builder.build_with().map(AnyRuntime::$scheme),)*
                    _ => Err(BuildError::NoScheme { given: scheme.to_owned() }),
                }
            }

            /// The name of its scheme.
            pub fn scheme(&self) -> &'static str {
                match self {
                    $(AnyRuntime::$scheme(_) => $name,)*
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
        /// rt => …)`, where `any` is a reference. The expression is compiled once a scheme.
        ///
        /// ```
        /// # use millpond::{Runtime, catalogue::AnyRuntime, on_runtime};
        /// let any = AnyRuntime::build(Runtime::builder().workers(3), "list")?;
        /// assert_eq!(on_runtime!(&any, rt => rt.workers()), 3);
        /// # Ok::<(), millpond::BuildError>(())
        /// ```
        #[macro_export]
        macro_rules! on_runtime {
            ($d any:expr, $d rt:ident => $d body:expr) => {
                match $d any {
                    $($d crate::catalogue::AnyRuntime::$scheme($d rt) => $d body,)*
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
}
