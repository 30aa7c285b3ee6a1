//! Options of several suites.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};

/// The cores that the process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// An option whose values are among these names.
pub fn names(option: &'static str, names: impl IntoIterator<Item = &'static str>, help: &'static str) -> Arg {
    let parser = PossibleValuesParser::new(names);
    Arg::new(option).long(option).value_name("NAME").value_parser(parser).action(ArgAction::Append).help(help)
}

/// Whether a repeatable option has the name, or was not given.
pub fn wants(matches: &ArgMatches, option: &str, name: &str) -> bool {
    matches.get_many::<String>(option).is_none_or(|mut names| names.any(|given| given == name))
}

/// The values of a repeatable option, in order, without duplicates.
pub fn numbers(matches: &ArgMatches, name: &str, default: &[u64]) -> Vec<u64> {
    let given = matches.get_many::<u64>(name).map(|all| all.copied().collect::<Vec<_>>());
    let mut values = given.unwrap_or_else(|| default.to_vec());
    values.sort_unstable();
    values.dedup();
    values
}
