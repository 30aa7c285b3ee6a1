//! A runtime for each dependence scheme, calling it directly.
//!
//! [`AnyRuntime`](millpond::catalogue::AnyRuntime) has three engines, enough to run a program on
//! any parts. It calls a scheme through a function table, unless it is the default. Here all
//! schemes are called directly.

use millpond::depend::Scheme;
use millpond::{BuildError, Builder, DefaultMemory, DefaultPool, Parts, Runtime, StackEngine};

/// The engine of a scheme, with the default pool and memory manager.
pub type OnScheme<D> = Parts<DefaultMemory, DefaultPool, D>;

/// Makes the enum of the runtimes, and the two macros that choose among the schemes. `$d` is a
/// dollar sign for these macros.
macro_rules! schemes {
    ($d:tt $($scheme:ident)*) => {
        /// A runtime on a scheme chosen by name. A dataflow stack counts as a scheme.
        #[derive(Debug)]
        pub enum StaticRuntime {
            $(
                #[doc = concat!("On [`", stringify!($scheme), "`](millpond::depend::", stringify!($scheme), ").")]
                $scheme(Runtime<OnScheme<millpond::depend::$scheme>>),
            )*
            /// On the dataflow stack.
            Stack(Runtime<StackEngine>),
        }

        $(impl From<Runtime<OnScheme<millpond::depend::$scheme>>> for StaticRuntime {
            fn from(runtime: Runtime<OnScheme<millpond::depend::$scheme>>) -> Self {
                Self::$scheme(runtime)
            }
        })*

        impl StaticRuntime {
            /// The name of its scheme.
            pub fn scheme(&self) -> &'static str {
                match self {
                    $(Self::$scheme(_) => <millpond::depend::$scheme as Scheme>::NAME,)*
                    Self::Stack(_) => StackEngine::NAME,
                }
            }
        }

        /// Evaluates an expression with a type alias for the named scheme. `with_scheme!(name, D =>
        /// …)` is `Some` of the value, or `None` if no scheme has this name. The stack is no scheme
        /// here. The expression is compiled once per scheme.
        ///
        /// ```
        /// use millpond::depend::Scheme;
        ///
        /// assert_eq!(millpond_bench::with_scheme!("list", D => D::NAME), Some("list"));
        /// assert_eq!(millpond_bench::with_scheme!("lists", D => D::NAME), None);
        /// ```
        #[macro_export]
        macro_rules! with_scheme {
            ($d name:expr, $d D:ident => $d body:expr) => {
                match $d name {
                    $(<millpond::depend::$scheme as millpond::depend::Scheme>::NAME => {
                        type $d D = millpond::depend::$scheme;
                        Some($d body)
                    })*
                    _ => None,
                }
            };
        }

        /// Evaluates an expression with the runtime in a
        /// [`StaticRuntime`](crate::engines::StaticRuntime): `on_scheme!(any, rt => …)`, where
        /// `any` is a reference. The expression is compiled once per scheme, and once for the
        /// stack.
        ///
        /// ```
        /// use millpond::Runtime;
        /// use millpond_bench::{engines::StaticRuntime, on_scheme};
        ///
        /// let rt = StaticRuntime::build(Runtime::builder().workers(2), "tickets")?.expect("a scheme");
        /// assert_eq!((rt.scheme(), on_scheme!(&rt, rt => rt.workers())), ("tickets", 2));
        /// # Ok::<(), millpond::BuildError>(())
        /// ```
        #[macro_export]
        macro_rules! on_scheme {
            ($d any:expr, $d rt:ident => $d body:expr) => {
                match $d any {
                    $($d crate::engines::StaticRuntime::$scheme($d rt) => $d body,)*
                    $d crate::engines::StaticRuntime::Stack($d rt) => $d body,
                }
            };
        }
    };
}

schemes! { $
    Parked
    Graph
    EmbeddedGraph
    Hypergraph
    EmbeddedHypergraph
    List
    TwoLocks
    Tickets
}

impl StaticRuntime {
    /// Builds a runtime on the named scheme; `None` for an unknown name.
    ///
    /// # Errors
    ///
    /// Like [`Builder::build`].
    pub fn build(builder: Builder, scheme: &str) -> Result<Option<Self>, BuildError> {
        if scheme == StackEngine::NAME {
            return builder.build_with().map(Self::Stack).map(Some);
        }
        with_scheme!(scheme, D => builder.build_with::<OnScheme<D>>().map(Self::from)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::catalogue::SCHEMES;

    #[test]
    fn every_scheme_of_the_catalogue_has_a_runtime() {
        for row in SCHEMES {
            let built = StaticRuntime::build(Runtime::builder().workers(1), row.name).expect("a runtime");
            assert_eq!(built.expect("a scheme of that name").scheme(), row.name);
        }
        assert!(StaticRuntime::build(Runtime::builder(), "lists").expect("no failure").is_none());
    }
}
