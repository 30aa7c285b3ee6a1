//! The memory managers of the paper's Table 1, each a line: a composition of the parts in [`named`](super::named).

use super::named::{FreeLists, Handling, Links, Local, Named, Parts, Refill, Variant};
use super::slab::Slabs;
use super::{Block, Memory};

/// A manager's name, and its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name in the table.
    pub name: &'static str,
    /// What it is made of.
    pub parts: Parts,
    /// The same in the words of the table's columns: the head of each, and what stands in it.
    pub columns: &'static [(&'static str, &'static str)],
}

/// Makes a type of each line, and the table of all.
macro_rules! rows {
    ($d:tt $($variant:ident $name:literal $lists:ident $links:ident $refill:ident $handling:ident $central_items:literal;)*) => {
        /// The rows of the table, in the paper's order.
        pub const ROWS: &[Row] = &[$(Row { name: $name, parts: <$variant as Variant>::PARTS, columns: $variant::COLUMNS }),*];

        $(
            #[doc = concat!("`", $name, "` of the [table](ROWS).")]
            #[derive(Debug)]
            pub enum $variant {}

            impl Variant for $variant {
                const NAME: &'static str = $name;

                const PARTS: Parts = Parts {
                    free_lists: FreeLists::$lists,
                    links: Links::$links,
                    refill: Refill::$refill,
                    handling: Handling::$handling,
                    central_items: $central_items,
                };
            }

            impl $variant {
                const COLUMNS: &[(&'static str, &'static str)] = &<$variant as Variant>::PARTS.columns();
            }
        )*

        /// The manager of a row that was chosen at run time, or the default one.
        ///
        /// ```
        /// use millpond::memory::Memory;
        /// use millpond::memory::variants::{AnyMemory, Chosen};
        ///
        /// let (manager, mut seats) = AnyMemory::with(1, &Chosen::of("clf").unwrap());
        /// let block = manager.alloc(&mut seats[0], 100);
        /// // SAFETY: the block is this manager's, and nobody uses it.
        /// unsafe { manager.free(&mut seats[0], block) };
        /// ```
        #[derive(Debug)]
        pub enum AnyMemory {
            /// The default one.
            Default(Slabs),
            $(#[doc = concat!("Of `", $name, "`.")] $variant(Named<$variant>),)*
        }

        /// What one worker keeps.
        #[derive(Debug)]
        pub enum AnyLocal {
            /// Of the default one.
            Default(<Slabs as Memory>::Local),
            $(#[doc = concat!("Of `", $name, "`.")] $variant(Local<$variant>),)*
        }

        /// Calls a method of the manager with the local part, which is of the same row.
        macro_rules! with_both {
            ($d any:expr, $d its_local:expr, $d manager:ident, $d local:ident => $d call:expr) => {
                match ($d any, $d its_local) {
                    (AnyMemory::Default($d manager), AnyLocal::Default($d local)) => $d call,
                    $((AnyMemory::$variant($d manager), AnyLocal::$variant($d local)) => $d call,)*
                    _ => panic!("a local part of another manager"),
                }
            };
        }

        /// Calls a function for the type of each row.
        #[cfg(all(test, not(loom)))]
        macro_rules! for_each_variant {
            ($d function:ident) => {{
                $($d function::<$crate::memory::variants::$variant>();)*
            }};
        }
        #[cfg(all(test, not(loom)))]
        pub(super) use for_each_variant;

        /// Evaluates an expression with a type alias for the memory manager of a name: `with_memory!(name, M => …)` is
        /// `Some` of it, or `None` if there is no such manager. The expression is compiled once a manager.
        ///
        /// ```
        /// use millpond::memory::Memory;
        ///
        /// assert_eq!(millpond::with_memory!("dgbkof", M => M::NAME), Some("dgbkof"));
        /// assert_eq!(millpond::with_memory!("malloc", M => M::NAME), None);
        /// ```
        #[macro_export]
        macro_rules! with_memory {
            ($d name:expr, $d M:ident => $d body:expr) => {
                match $d name {
                    "default" => {
                        type $d M = $d crate::DefaultMemory;
                        Some($d body)
                    }
                    $($name => {
                        type $d M = $d crate::memory::named::Named<$d crate::memory::variants::$variant>;
                        Some($d body)
                    })*
                    _ => None,
                }
            };
        }

        // SAFETY: the manager's of the row: a block came from the manager that it is given back to, since there is one.
        unsafe impl Memory for AnyMemory {
            type Local = AnyLocal;
            type Choice = Chosen;

            const NAME: &'static str = "chosen by name";

            fn with(seats: usize, choice: &Chosen) -> (Self, Vec<AnyLocal>) {
                match choice.0 {
                    $($name => {
                        let (manager, locals) = Named::new(seats);
                        (AnyMemory::$variant(manager), locals.into_iter().map(AnyLocal::$variant).collect())
                    })*
                    _ => {
                        let (manager, locals) = Slabs::new(seats);
                        (AnyMemory::Default(manager), locals.into_iter().map(AnyLocal::Default).collect())
                    }
                }
            }

            #[inline]
            fn largest_stable(&self) -> usize {
                match self {
                    AnyMemory::Default(manager) => manager.largest_stable(),
                    $(AnyMemory::$variant(manager) => manager.largest_stable(),)*
                }
            }

            #[inline]
            fn alloc(&self, local: &mut AnyLocal, size: usize) -> Block {
                with_both!(self, local, manager, local => manager.alloc(local, size))
            }

            #[inline]
            unsafe fn free(&self, local: &mut AnyLocal, block: Block) {
                // SAFETY: the caller's.
                with_both!(self, local, manager, local => unsafe { manager.free(local, block) });
            }

            fn idle(&self, local: &mut AnyLocal) {
                with_both!(self, local, manager, local => manager.idle(local));
            }
        }
    };
}

rows! { $
//  type     name       free lists  links  refill   handling        central list of items
    Bs       "bs"       None        Blocks Elements WhenNeeded      false;
    L        "l"        Central     Items  Elements WhenNeeded      true;
    Bk       "bk"       Central     Items  Whole    WhenNeeded      true;
    Dl       "dl"       Distributed Items  Elements WhenNeeded      false;
    Dlf      "dlf"      Distributed Blocks Elements WhenNeeded      false;
    Dbk      "dbk"      Distributed Items  Whole    WhenNeeded      false;
    Dbko     "dbko"     Distributed Items  Whole    AfterAllocation false;
    Dgbk     "dgbk"     Distributed Items  Some     WhenNeeded      false;
    Dgbko    "dgbko"    Distributed Items  Some     AfterAllocation false;
    Dgbkof   "dgbkof"   Distributed Blocks Some     AfterAllocation false;
    Cl       "cl"       Both        Items  Elements WhenNeeded      false;
    Clf      "clf"      Both        Blocks Elements WhenNeeded      false;
    Clb      "clb"      Both        Items  Elements WhenNeeded      true;
    Cgbk     "cgbk"     Both        Items  Some     WhenNeeded      false;
    Cgbkb    "cgbkb"    Both        Items  Some     WhenNeeded      true;
    Cgbko    "cgbko"    Both        Items  Some     AfterAllocation false;
    Cgbkob   "cgbkob"   Both        Items  Some     AfterAllocation true;
    Cgbk1    "cgbk1"    Both        Items  Some     BeforeCentral   false;
    Cgbk1b   "cgbk1b"   Both        Items  Some     BeforeCentral   true;
}

/// A row that was chosen at run time; by default the default manager.
///
/// ```
/// use millpond::memory::variants::Chosen;
///
/// assert_eq!(Chosen::of("cgbkob").unwrap().name(), "cgbkob");
/// assert!(Chosen::of("malloc").is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chosen(&'static str);

impl Chosen {
    /// The row of that name, or the default manager.
    pub fn of(name: &str) -> Option<Chosen> {
        let mut names = ROWS.iter().map(|row| row.name).chain([Slabs::NAME]);
        names.find(|row| *row == name).map(Chosen)
    }

    /// Which it is.
    pub fn name(&self) -> &'static str {
        self.0
    }
}

impl Default for Chosen {
    fn default() -> Self {
        Chosen(Slabs::NAME)
    }
}
