//! The pools of the paper's Tables 2 and 3, one per line. Each is a composition of the parts of
//! this family.
//!
//! Needs the Cargo feature `catalogue`.

use super::named::{Busy, EachPut, IntoEmpty, Named, Variant};
use super::params::Params;
use super::placement::{Central, LocalRandom, OwnAndCentral, OwnQueues, Placement, Public, Random, Stealing};
use super::queue::{Array, DoubleList, List};
use super::random::{RandR, TwisterFloat, TwisterInteger};
use super::shared::{Fifo, Lifo, Locked, Opposite, PerTask, TwoLock, Working};
use crate::pool::{Chosen, Pool, Split};
use crate::rows::rows;

/// A pool's name, and its parts in the words of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The name in the tables.
    pub name: &'static str,
    /// The head and the entry of each column.
    pub columns: &'static [(&'static str, &'static str)],
    /// The names of the [`Params`] that affect it.
    pub params: &'static [&'static str],
    /// Chooses the pool at run time.
    pub choose: fn(Params) -> Chosen,
}

/// The parts of a line.
macro_rules! parts {
    ([$placement:ty, $wake:ident; $($column:literal)*]) => {
        type Placement = $placement;
        type Wake = $wake;
    };
}

/// The row of a line.
macro_rules! row {
    ($variant:ident $name:literal [$placement:ty, $wake:ident;
        $kind:literal $details:literal $queues:literal $access:literal $allocation:literal $locking:literal $wakes:literal]
    ) => {
        Row {
            name: $name,
            columns: &[
                ("type", $kind),
                ("details", $details),
                ("queues", $queues),
                ("access", $access),
                ("memory allocation", $allocation),
                ("locking", $locking),
                ("wake-up", $wakes),
            ],
            params: <$placement as Placement>::PARAMS,
            choose: Chosen::of::<Named<$variant>>,
        }
    };
}

rows! { $ pool, DefaultPool, for_each_variant,
    /// Evaluates an expression with a type alias for the pool of a name.
    /// `with_pool!(name, P => …)` returns `Some` of the value, or `None` if there is no such
    /// pool. The expression is compiled once per pool.
    ///
    /// ```
    /// use millpond::pool::Pool;
    ///
    /// assert_eq!(millpond::with_pool!("dq8", P => P::NAME), Some("dq8"));
    /// assert_eq!(millpond::with_pool!("dq11", P => P::NAME), None);
    /// ```
    with_pool;
    Sq1 "sq1" [Central<Locked<List>>, EachPut;
        "central" "" "single-linked list" "LIFO" "when needed" "queue" "each put"]
    Sq2 "sq2" [Central<Locked<Array>>, EachPut;
        "central" "" "array" "LIFO" "at the start" "queue" "each put"]
    Sq3 "sq3" [Central<PerTask<Fifo>>, EachPut;
        "central" "" "double-linked list" "FIFO" "when needed" "tasks" "each put"]
    Sq4 "sq4" [Central<TwoLock>, EachPut;
        "central" "Michael and Scott's queue" "single-linked list" "FIFO" "when needed" "head + tail" "each put"]
    Dq1 "dq1" [OwnQueues<List>, EachPut;
        "distributed" "no balance" "single-linked lists" "LIFO" "when needed" "-" "-"]
    Dq2 "dq2" [Stealing<Locked<List, Working>>, EachPut;
        "stealing" "from the working end" "single-linked lists" "LIFO" "when needed" "all queues" "each put"]
    Dq3 "dq3" [OwnQueues<Array>, EachPut;
        "distributed" "no balance" "arrays" "LIFO" "at the start" "-" "-"]
    Dq4 "dq4" [LocalRandom, EachPut;
        "stealing" "two queues a worker" "single-linked lists" "LIFO" "when needed" "all queues" "each put"]
    Dq5 "dq5" [Stealing<Locked<DoubleList, Opposite>>, EachPut;
        "stealing" "from the opposite end" "double-linked lists" "LIFO" "when needed" "all queues" "each put"]
    Dq6 "dq6" [Stealing<PerTask<Lifo>>, EachPut;
        "stealing" "from the opposite end" "double-linked lists" "LIFO" "when needed" "tasks" "each put"]
    Dq7 "dq7" [Stealing<Locked<Array, Working>>, EachPut;
        "stealing" "from the working end" "arrays" "LIFO" "at the start" "all queues" "each put"]
    Dq8 "dq8" [Public, EachPut;
        "stealing" "private and public queues, blocks of four" "single-linked lists of arrays" "LIFO" "when needed"
        "public queues" "each block that gets public"]
    Dq9 "dq9" [Stealing<Locked<List, Working>>, IntoEmpty;
        "stealing" "from the working end" "single-linked lists" "LIFO" "when needed" "all queues" "into an empty queue"]
    Dq10 "dq10" [Stealing<Locked<List, Working>>, Busy;
        "stealing" "from the working end" "single-linked lists" "LIFO" "when needed" "all queues" "busy wait"]
    Sdq1 "sdq1" [OwnAndCentral, EachPut;
        "central + distributed" "past a threshold, blocks of four" "single-linked list of arrays, arrays" "LIFO" "when needed"
        "central queue" "each block that gets central"]
    Rq1 "rq1" [Random<Locked<List>, RandR>, EachPut;
        "randomised" "rand_r, floating point" "single-linked lists" "LIFO" "when needed" "all queues" "each put"]
    Rq2 "rq2" [Random<Locked<List>, TwisterInteger>, EachPut;
        "randomised" "Mersenne Twister, integer" "single-linked lists" "LIFO" "when needed" "all queues" "each put"]
    Rq3 "rq3" [Random<Locked<List>, TwisterFloat>, EachPut;
        "randomised" "Mersenne Twister, floating point" "single-linked lists" "LIFO" "when needed" "all queues" "each put"]
}

/// Returns the pool of that name, with its parameters. It is a row of the tables or the default
/// pool, which has no parameters.
///
/// ```
/// use millpond::pool::params::Params;
/// use millpond::pool::variants::by_name;
///
/// assert_eq!(by_name("rq2", Params { queues: 8, ..Params::default() }).unwrap().name(), "rq2");
/// assert!(by_name("rq4", Params::default()).is_none());
/// ```
pub fn by_name(name: &str, params: Params) -> Option<Chosen> {
    if name == Split::NAME {
        return Some(Chosen::default());
    }
    ROWS.iter().find(|row| row.name == name).map(|row| (row.choose)(params))
}
