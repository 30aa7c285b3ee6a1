//! Error messages about the command line: one line each, with the nearest valid names.

use crate::failure::Failure;
use crate::families::FAMILIES;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error of the command line.
pub fn refusal(error: &clap::Error, command: &Command) -> Failure {
    let line = match error.kind() {
        ErrorKind::InvalidSubcommand => invalid_name(error, command),
        ErrorKind::UnknownArgument => unknown_option(error, command),
        ErrorKind::InvalidValue => invalid_value(error),
        ErrorKind::MissingSubcommand => {
            let names = strings(error, ContextKind::ValidSubcommand);
            Some(format!("a name is missing: expected one of {}", names.join(", ")))
        }
        _ => None,
    };
    Failure::Usage(line.unwrap_or_else(|| first_line(error)))
}

/// The first line of clap's own message, which is complete.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn invalid_name(error: &clap::Error, command: &Command) -> Option<String> {
    let given = string(error, ContextKind::InvalidSubcommand)?;
    let args: Vec<String> = std::env::args().collect();
    let (what, valid) = known_subcommands(command, &args);
    Some(unknown(&what, &given, &valid))
}

/// The expected kind of name, and the valid names.
fn known_subcommands(command: &Command, args: &[String]) -> (String, Vec<String>) {
    let within = args.get(1).and_then(|word| command.find_subcommand(word)).unwrap_or(command);
    let what = within.get_subcommand_value_name().unwrap_or("command").to_ascii_lowercase();
    (what, within.get_subcommands().map(|c| c.get_name().to_owned()).collect())
}

fn unknown_option(error: &clap::Error, command: &Command) -> Option<String> {
    let given = string(error, ContextKind::InvalidArg)?;
    if !given.starts_with('-') {
        return Some(format!("unexpected argument '{given}'"));
    }
    // The words before the option determine its command.
    let before: Vec<String> = std::env::args().take_while(|word| !word.starts_with(&given)).collect();
    let (depth, valid) = known_options(command, &before);
    let belongs: Vec<_> = command.get_subcommands().filter(|c| has(c, &given)).map(name).collect();
    if depth == 0 && !belongs.is_empty() {
        return Some(format!("option '{given}' must come after its command: {}", belongs.join(", ")));
    }
    Some(unknown("option", &given, &valid))
}

fn name(command: &Command) -> String {
    command.get_name().to_owned()
}

/// Whether a command, or one below it, has the option.
fn has(command: &Command, option: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long().is_some_and(|long| option == format!("--{long}")))
        || command.get_subcommands().any(|inner| has(inner, option))
}

/// The valid options of the named command, and perhaps its workload or suite. Also the number of
/// these names on the command line.
fn known_options(command: &Command, args: &[String]) -> (usize, Vec<String>) {
    let mut command = command.clone();
    command.build();
    let (mut depth, mut within) = (0, &command);
    for word in args.iter().skip(1) {
        if let Some(inner) = within.find_subcommand(word) {
            (depth, within) = (depth + 1, inner);
        }
    }
    let shown = within.get_arguments().filter(|arg| !arg.is_hide_set());
    (depth, shown.filter_map(|arg| arg.get_long()).map(|name| format!("--{name}")).collect())
}

fn invalid_value(error: &clap::Error) -> Option<String> {
    let given = string(error, ContextKind::InvalidValue).filter(|v| !v.is_empty())?;
    let option = string(error, ContextKind::InvalidArg)?;
    let name = option.split_whitespace().next()?.trim_start_matches('-').trim_matches(['[', ']', '<', '>']);
    let valid = strings(error, ContextKind::ValidValue);
    let family = FAMILIES.iter().find(|family| family.option == name);
    let what = if name == "WHAT" { "list" } else { family.map_or(name, |family| family.noun) };
    let says = unknown(what, &given, &valid);
    // There are few.
    let all_named = nearest(&given, &valid).len() == valid.len();
    Some(if all_named { says } else { format!("{says}; all: {}", valid.join(", ")) })
}

fn string(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// The message about an unknown name.
pub fn unknown(what: &str, given: &str, valid: &[String]) -> String {
    let nearest = nearest(given, valid);
    format!("unknown {what} '{given}'; the nearest valid: {}", nearest.join(", "))
}

/// The valid names nearest to `given`, at most three. All valid ones, if none is similar.
fn nearest<'a>(given: &str, valid: &'a [String]) -> Vec<&'a str> {
    let bare = |name: &str| name.trim_start_matches('-').to_ascii_lowercase();
    let mut ranked: Vec<(f64, &str)> =
        valid.iter().map(|name| (strsim::jaro_winkler(&bare(given), &bare(name)), name.as_str())).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let alike = ranked.iter().take_while(|(likeness, _)| *likeness > 0.75).count();
    if alike == 0 {
        return valid.iter().map(String::as_str).collect();
    }
    ranked.into_iter().take(alike.min(3)).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        let names = ["cholesky", "matmul", "fib", "fib-join", "nqueens"].map(str::to_owned);
        assert_eq!(nearest("cholesk", &names)[0], "cholesky");
        assert_eq!(nearest("queens", &names)[0], "nqueens");
        assert_eq!(nearest("FIB", &names)[0], "fib");
        assert_eq!(nearest("zzzz", &names), names);
    }
}
