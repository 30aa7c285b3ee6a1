//! The runtime of a point, and the options that change it.

use crate::engines::StaticRuntime;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use millpond::{Builder, Inline, Runtime, StackEngine};
use millpond_cli::suites::{Failure, MAX_WINDOW, integer, of_scheme};
use serde_json::{Value, json};

/// When a leaf that is ready at its spawn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// At its spawn if it is short, as by default. The scheme does not track it.
    Auto,
    /// At its spawn. The scheme does not track it.
    Always,
    /// At its spawn, between its issue and its release by the scheme ([TG](crate#sources) §5.1).
    Issued,
    /// When a worker takes it from the pool.
    Never,
}

/// Every rule by its name.
static RULES: [(&str, Rule); 4] =
    [("auto", Rule::Auto), ("always", Rule::Always), ("issued", Rule::Issued), ("never", Rule::Never)];

impl Rule {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        RULES.iter().find(|(_, rule)| *rule == self).map_or("", |(name, _)| *name)
    }

    /// The stack has no scheme, so it cannot issue a leaf and run it at once.
    fn apply(self, builder: Builder, scheme: &str) -> Builder {
        match self {
            Self::Auto => builder.inline(Inline::Auto),
            Self::Always => builder.inline(Inline::Always),
            Self::Issued if scheme != StackEngine::NAME => builder.issue_inline(true),
            Self::Issued | Self::Never => builder.inline(Inline::Never),
        }
    }
}

/// The bytes of renamed versions if nothing limits them.
const UNLIMITED: u64 = u64::MAX;

/// The build of a point's runtimes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    pub workers: usize,
    pub rule: Rule,
    pub window: usize,
    /// The maximum bytes of renamed versions; 0 forbids renaming.
    rename: u64,
}

impl Setting {
    pub const fn new(workers: usize, rule: Rule, window: usize) -> Self {
        Self { workers, rule, window, rename: UNLIMITED }
    }

    /// Builds the runtime on a scheme of the catalogue.
    pub fn build(&self, scheme: &str, pin: bool) -> Result<StaticRuntime, Failure> {
        let builder = Runtime::builder().workers(self.workers).window(self.window).pin(pin).rename_bytes(self.rename);
        let runtime = StaticRuntime::build(self.rule.apply(builder, scheme), scheme)
            .map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))?;
        Ok(runtime.expect("a scheme of the catalogue"))
    }

    /// The configuration for reports. The stack ignores the rule for leaves, and never renames.
    pub fn config(&self, scheme: &str) -> Value {
        let of_schemes = |value: Value| if scheme == StackEngine::NAME { Value::Null } else { value };
        let mut config = of_scheme(scheme, self.workers);
        config["deterministic"] = json!(false);
        config["window"] = json!(self.window);
        config["inline"] = of_schemes(json!(self.rule.name()));
        config["rename"] = of_schemes(match self.rename {
            UNLIMITED => json!("on"),
            0 => json!("off"),
            bytes => json!(bytes),
        });
        config
    }
}

/// The options that change the runtimes of a suite.
pub fn args() -> [Arg; 3] {
    let rules = PossibleValuesParser::new(RULES.iter().map(|(name, _)| *name));
    let inline = Arg::new("inline").long("inline").value_name("RULE").value_parser(rules);
    let rename = Arg::new("rename").long("rename").value_name("on|off|BYTES").value_parser(rename);
    [
        integer("window", "TASKS", 1, MAX_WINDOW, "Tasks in flight at most [default: the suite's]"),
        inline.help("When a ready task runs; `issued`: at its spawn, tracked by the scheme [default: the suite's]"),
        rename.help("Whether a `write` gets new storage, or the bytes of such storage at most [default: on]"),
    ]
}

/// Reads the value of `--rename`.
fn rename(text: &str) -> Result<u64, String> {
    const MOST: u64 = 1 << 62;
    match text {
        "on" => Ok(UNLIMITED),
        "off" => Ok(0),
        _ => {
            let bytes = text.parse::<u64>().ok().filter(|bytes| (1..=MOST).contains(bytes));
            bytes.ok_or_else(|| format!("expected on, off, or 1..={MOST}"))
        }
    }
}

/// The given values of these options.
#[derive(Debug, Clone, Copy)]
pub struct Given {
    pub rule: Option<Rule>,
    window: Option<usize>,
    rename: Option<u64>,
}

impl Given {
    pub fn new(matches: &ArgMatches) -> Self {
        let rule = matches.get_one::<String>("inline");
        Self {
            rule: rule.and_then(|given| RULES.iter().find(|(name, _)| name == given)).map(|(_, rule)| *rule),
            window: matches.get_one::<u64>("window").map(|tasks| *tasks as usize),
            rename: matches.get_one::<u64>("rename").copied(),
        }
    }

    /// A suite's setting with the given values in place of its own ones.
    pub fn apply(self, to: Setting) -> Setting {
        Setting {
            rule: self.rule.unwrap_or(to.rule),
            window: self.window.unwrap_or(to.window),
            rename: self.rename.unwrap_or(to.rename),
            ..to
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::{Handle, Spawn};

    #[test]
    fn storage_of_writes() {
        assert_eq!([rename("on"), rename("off"), rename("77")], [Ok(UNLIMITED), Ok(0), Ok(77)]);
        for wrong in ["", "0", "-1", "onn", "4611686018427387905"] {
            assert_eq!(rename(wrong), Err("expected on, off, or 1..=4611686018427387904".to_owned()));
        }
    }

    /// Whether a ready leaf runs at its spawn, and whether a `write` behind a reader does.
    fn runs_at_spawn(setting: Setting, scheme: &str) -> [bool; 2] {
        let (runtime, x, y) = (setting.build(scheme, false).expect("a runtime"), Handle::new(1), Handle::new(1));
        on_scheme!(&runtime, rt => rt.scope(|s| {
            s.nest(x.read(), |_, _| ());
            let write = s.spawn(x.write(), |x| x.set(2));
            [s.spawn(y.inout(), |y| *y += 1).is_done(), write.is_done()]
        }))
        .expect("nothing fails")
    }

    #[test]
    fn a_setting_is_the_one_of_its_runtime() {
        for scheme in ["parked", "graph", "embedded-graph", "tickets"] {
            for (rule, runs) in [(Rule::Auto, true), (Rule::Always, true), (Rule::Issued, true), (Rule::Never, false)] {
                let setting = Setting::new(1, rule, 100);
                assert_eq!(runs_at_spawn(setting, scheme), [runs; 2], "{scheme}, {rule:?}");
                let in_place = Setting { rename: 0, ..setting };
                assert_eq!(runs_at_spawn(in_place, scheme), [runs, false], "{scheme}, {rule:?}");
            }
        }
    }

    #[test]
    fn the_configuration_says_what_applies() {
        let setting = Setting { rename: 64, ..Setting::new(2, Rule::Issued, 7) };
        let config = setting.config("list");
        assert_eq!((&config["inline"], &config["rename"]), (&json!("issued"), &json!(64)));
        assert_eq!((&config["window"], &config["workers"]), (&json!(7), &json!(2)));
        let config = setting.config("stack");
        assert_eq!((&config["inline"], &config["rename"]), (&Value::Null, &Value::Null));
    }
}
