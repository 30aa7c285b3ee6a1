pub(crate) use crate::fib::verdict;
