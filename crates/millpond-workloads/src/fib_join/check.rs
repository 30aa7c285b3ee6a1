pub(crate) use crate::fib::known;
