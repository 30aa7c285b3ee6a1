//! Task grammars. The task program does the same as the serial one, for every grammar. An error in
//! a file is reported in one line that names the place.

use millpond::Runtime;
use millpond::catalogue::{AnyRuntime, Names};
use millpond_workloads::{Error, Job, Options, Stopwatch, Value, find};
use std::path::PathBuf;

/// A file for one test, removed at the end.
struct Grammar(PathBuf);

impl Grammar {
    fn new(name: &str, text: impl AsRef<[u8]>) -> Self {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.grammar", std::process::id()));
        std::fs::write(&file, text).expect("a file");
        Self(file)
    }

    fn prepare(&self, seed: u64, set: &str) -> Result<Box<dyn Job>, Error> {
        let options = Options::new().path("file", &self.0).integer("seed", seed).text("set", set);
        (find("grammar").expect("the workload").prepare)(&options)
    }

    /// Its error, without the file's name.
    fn fault(&self) -> String {
        let error = self.prepare(1, "").err().expect("a fault").to_string();
        let name = self.0.display().to_string();
        error.strip_prefix(&format!("{name}: ")).unwrap_or_else(|| panic!("{error} names the file")).to_owned()
    }
}

impl Drop for Grammar {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn says(text: &str, fault: &str) {
    let name = format!("fault-{:x}", text.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte)));
    assert_eq!(Grammar::new(&name, text).fault(), fault, "{}", text.chars().take(200).collect::<String>());
}

fn integer(job: &mut dyn Job, name: &str) -> u64 {
    let result = job.check().expect("a verdict").result;
    match result.iter().find(|(field, _)| *field == name) {
        Some((_, Value::Integer(number))) => *number,
        other => panic!("{other:?}"),
    }
}

/// Runs it serially. Returns the numbers of tasks and units.
fn ran(text: &str, set: &str) -> (u64, u64) {
    let name = format!("ran-{:x}", text.len() * 1000 + set.len());
    let mut job = Grammar::new(&name, text).prepare(1, set).expect("a grammar");
    job.serial(&mut Stopwatch::default()).expect("the serial program");
    assert!(job.check().expect("a verdict").verified);
    (integer(job.as_mut(), "tasks"), integer(job.as_mut(), "units"))
}

#[test]
fn the_synthetic_algorithm_has_as_many_tasks_as_in_the_paper() {
    // TP Table 4, `{10f} {50f} {100f}` or `{100f}` each.
    let text = include_str!("../../grammars/synthetic.grammar");
    let tasks: Vec<_> = [15, 20, 25].iter().map(|k| ran(text, &format!("k={k},f=1")).0).collect();
    assert_eq!(tasks, [5_149, 57_290, 635_593]);
    assert_eq!(ran(text, "k=2,f=3"), (4, 3 * (3 * 100 + 160)));
    assert_eq!(ran(text, "k=0"), (0, 0));
}

#[test]
fn the_examples_mean_what_they_say() {
    // Without the choice of A(1): A(2) makes one B.
    assert_eq!(ran("init A(2)\nB -> {1}\nA(1) -> {1} [A(1)|A(2)] {1} B {2}\nA(2) -> {1} B {1}", ""), (2, 3));
    // Several guards, arithmetic, and a weight of 0, which is never drawn.
    assert_eq!(ran("init A(7)\nA(i) -> {i} for i = 0\nA(i) → {2(i+1)} A(i/2) for i ≥ 4\nA(i) -> A(i-1)", ""), (5, 16));
    assert_eq!(ran("init A\nA -> [0: B | 1: C]\nB -> {1}\nC -> {5}", ""), (2, 5));
    // The right operand of `and` and `or` is evaluated only if the left one does not decide.
    assert_eq!(ran("init A(0)\nA(i) -> {3} for i != 0 and 1/i > 0 or i = 0 or 1/i > 0", ""), (1, 3));
    // Shared variables select productions, and the parent sees a change by a child.
    let shared = "shared s = 2\ninit A, A\nA -> {s} B {s} for s > 0\nA -> {100}\nB -> <s = s - 1>";
    assert_eq!(ran(shared, ""), (4, 2 + 1 + 1));
    assert_eq!(
        ran(
            "param n = 3\ninit A for i from 1 to n, B for i from n to 1\nA -> {i-0*1}\nB -> {7}"
                .replace("i-0*1", "1")
                .as_str(),
            "n=4"
        ),
        (4, 4)
    );
    // Statements continue on indented lines. Comments end them.
    assert_eq!(ran("# all\ninit A # one\n\nA ->\n  {1} # first\n  {2}\n", ""), (1, 3));
}

#[test]
fn what_is_drawn_depends_on_the_seed_alone() {
    let grammar = Grammar::new("drawn", include_str!("../../grammars/noise.grammar"));
    let units = |seed| {
        let mut job = grammar.prepare(seed, "chains=100").expect("a grammar");
        job.serial(&mut Stopwatch::default()).expect("the serial program");
        integer(job.as_mut(), "units")
    };
    assert_eq!(units(1), units(1));
    assert_ne!(units(1), units(2));
}

#[test]
fn syntax_errors_name_line_and_column() {
    let at = |text: &str, fault: &str| says(text, fault);
    at("init A\nA -> {1", "line 2, column 8: expected `}`, found the end of the file");
    at("init A\nA {1}", "line 2, column 3: expected `->`, found `{`");
    at("init A\nA -> {1} $", "line 2, column 10: '$' means nothing here");
    at("init A(1,)\nA(i) -> {1}", "line 1, column 10: expected a value, found `)`");
    at(
        " init A",
        "line 1, column 2: expected a statement in the first column: `param`, `shared`, `init` or a production, found `init`",
    );
    at("param k 3", "line 1, column 9: expected `=`, found `3`");
    at("param for = 3", "line 1, column 7: expected a name, found `for`");
    at(
        "param k = 3\ninit A for i from k up to 5\nA -> {1}",
        "line 2, column 21: expected `to` or `down to`, found `up`",
    );
    at(
        "init A\nA -> [ {1} | {2}\nB -> {1}",
        "line 3, column 1: expected `]`, found a new statement, `B` (go on with a statement on lines that are indented)",
    );
    at(
        "init A\nA -> {99999999999999999999}",
        "line 2, column 7: 99999999999999999999 is more than 9223372036854775807",
    );
    at("init A\nA -> {uniform(1)}", "line 2, column 7: `uniform` takes 2 arguments, here are 1");
    at(
        "init A\nA -> {1} )",
        "line 2, column 10: expected `{`, `[`, `<`, a task type, `for` or the end of the production, found `)`",
    );
    at("init A\nA -> {1} for i < 2 < 3", "line 2, column 20: expected the end of the statement, found `<`");
    at(&format!("init A\nA -> {{{}1}}", "1 ".repeat(1_000)), "line 2, column 9: expected `}`, found `1`");
}

/// Two hundred thousand of each construct. Each would take a level of the stack.
#[test]
fn deep_nesting_is_refused() {
    let deep = |text: String, fault: &str| {
        let found = Grammar::new("deep", text).fault();
        assert!(found.starts_with("line 2, column ") && found.ends_with(fault), "{found}");
    };
    let brackets = "brackets are nested more than 100 deep";
    let many = |text: &str| text.repeat(200_000);
    deep(format!("init A\nA -> {{{}1}}", many("(")), brackets);
    deep(format!("init A\nA -> {{{}1}}", many("-")), brackets);
    deep(format!("init A\nA -> {{{}1}}", many("2(")), brackets);
    deep(format!("init A\nA -> {}", many("[")), brackets);
    deep(format!("init A\nA -> {{1}} for {} 1", many("not ")), brackets);
    deep(format!("init A\nA -> {{1{}}}", many("+1")), "a value of more than 1000 operators");
    let group = ["*1", "+1", " and 1", " or 1"].map(|chain| chain.repeat(99)).concat();
    deep(
        format!("init A\nA -> {{{}1{}}}", "(".repeat(98), (group + ")").repeat(98)),
        "a value of more than 1000 operators",
    );
}

#[test]
fn names_that_mean_nothing_are_named() {
    says("init A\nA -> B {1}", "line 2, column 6: unknown task type `B`: there are A");
    says("init A", "line 1, column 6: unknown task type `A`: there are none");
    says("init A(1)\nA -> {1}", "line 1, column 6: `A` takes 0 arguments (line 2), here are 1");
    says("init A(1)\nA(i) -> {1}\nA -> {1}", "line 3, column 1: `A` takes 1 arguments (line 2), here are 0");
    says("param k = 1\ninit A(1)\nA(i) -> {j}", "line 3, column 10: unknown variable `j`: there are i, k");
    says("init A\nA -> <s = 1>", "line 2, column 7: unknown shared variable `s`: there are none");
    says("param k = 1\nshared k = 2\ninit A\nA -> {1}", "line 2, column 8: `k` is defined twice");
    says("init A(1, 2)\nA(i, i) -> {1}", "line 2, column 6: `i` is the name of two arguments");
    says("param i = 1\ninit A(1)\nA(i) -> {1}", "line 3, column 3: `i` is a parameter or a shared variable already");
    says(
        "shared s = 1\ninit A(s)\nA(i) -> {1}",
        "line 2, column 8: `s` is a shared variable, and initial tasks are made before any task runs",
    );
    says("init A\nA -> {1}\nA -> {2}", "line 3, column 1: this production never applies: that of line 2 always does");
    says("A -> {1}", "line 1, column 1: no initial tasks: a line `init A` says of which types there are some");
    says("", "line 1, column 1: no initial tasks: a line `init A` says of which types there are some");
    says(
        "init A(1,2,3,4,5,6,7,8,9)\nA(a,b,c,d,e,f,g,h,i) -> {1}",
        "line 2, column 1: `A` has 9 arguments, of 8 at most",
    );
}

#[test]
fn what_goes_wrong_on_the_way_is_found_before_the_run() {
    says("init A(1)\nA(0) -> {1}", "line 2, column 1: no production applies to A(1)");
    says(
        "init A\nA -> A",
        "line 2, column 1: A has 10000 ancestors: the grammar may have no end (--max-depth allows more)",
    );
    says(
        "init A(0)\nA(i) -> {1} A(i+1)",
        "line 2, column 1: A(10000) has 10000 ancestors: the grammar may have no end (--max-depth allows more)",
    );
    says("init A(2)\nA(i) -> {5-3i} A(i-1)", "line 2, column 9: a time is negative: -1");
    says("init A(2)\nA(i) -> {1/(i-2)}", "line 2, column 11: 2 is divided by 0".replace("2 is", "1 is").as_str());
    says(
        "init A(2)\nA(i) -> A(i * 4611686018427387904)",
        "line 2, column 13: 2 * 4611686018427387904 is beyond 64 bits",
    );
    says("init A\nA -> [0: {1} | 0: {2}]", "line 2, column 6: all alternatives have the weight 0");
    says("init A\nA -> [(0-1): {1} | 2: {2}]", "line 2, column 6: an alternative's weight is negative: -1");
    says("init A\nA -> {uniform(3, 2)}", "line 2, column 6: no time is between 3 and 2");
    says("init A\nA -> {exponential(-1)}", "line 2, column 6: the mean of a time is negative: -1");
    says("init A for i from 1 to 100000000\nA -> {1}", "line 2, column 1: more than 1000000 initial tasks");
}

#[test]
fn grammars_beyond_all_use_are_refused() {
    let productions: String = (0..3000).map(|kind| format!("A{kind} -> {{1}}\n")).collect();
    says(&format!("init A0\n{productions}"), "line 2002, column 1: more than 2000 productions");
    let params: String = (0..3000).map(|param| format!("param p{param} = 1\n")).collect();
    says(
        &format!("{params}init A\nA -> {{1}}\n"),
        "line 2001, column 7: more than 2000 parameters and shared variables",
    );
    let long = format!("init A\nA -> {}", "{1} ".repeat(1 << 18));
    assert_eq!(Grammar::new("long", &long).fault(), "line 1: a grammar of 1048588 bytes: at most 1048576");
}

#[test]
fn an_endless_number_of_tasks_ends_at_the_limit() {
    let grammar = Grammar::new("endless", "init A(1)\nA(i) -> A(i+1) A(i+1) for i < 60\nA(i) -> {1}");
    let options = Options::new().path("file", &grammar.0).integer("max-tasks", 100_000);
    let error = (find("grammar").expect("the workload").prepare)(&options).err().expect("too many").to_string();
    assert!(
        error.contains("line 3, column 1: A(60) comes after 100000 tasks: the grammar may have no end (--max-tasks"),
        "{error}"
    );
}

#[test]
fn files_that_are_no_text_are_refused() {
    assert_eq!(Grammar::new("binary", b"init A\nA -> \xff").fault(), "line 2: not UTF-8 text");
    let missing = Options::new().path("file", "no/such.grammar");
    let error = (find("grammar").expect("the workload").prepare)(&missing).err().expect("no file").to_string();
    assert!(error.starts_with("no/such.grammar: cannot read: "), "{error}");
}

/// Numbers for a test.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

#[test]
fn nothing_that_looks_like_a_grammar_panics() {
    let whole = concat!(include_str!("../../grammars/search.grammar"), include_str!("../../grammars/noise.grammar"));
    let mut draw = Draw(3);
    for case in 0..2000 {
        let mut text: Vec<char> = whole.chars().collect();
        for _ in 0..1 + draw.below(6) {
            let place = |draw: &mut Draw| draw.below(text.len().max(1) as u64) as usize;
            let (at, other) = (place(&mut draw), place(&mut draw));
            match draw.below(4) {
                _ if text.is_empty() => text.push('A'),
                0 => drop(text.remove(at)),
                1 => text[at] = text[other],
                2 => text.insert(at, draw.of(&['(', ')', '{', '[', '|', '<', '\n', ' ', '9', 'A', '→', '\u{1f980}'])),
                _ => text.truncate(at.max(1)),
            }
        }
        let text: String = text.into_iter().collect();
        let grammar = Grammar::new(&format!("mutant-{}", case % 8), &text);
        let options = Options::new().path("file", &grammar.0).integer("max-tasks", 2000);
        // Accepted or refused, in one line.
        if let Err(error) = (find("grammar").expect("the workload").prepare)(&options) {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
}

/// A grammar that ends, since the first argument of a child is smaller. It has shared variables
/// that select productions, random draws, and alternatives.
fn random_grammar(draw: &mut Draw) -> String {
    let (types, shared) = (1 + draw.below(4), draw.below(4));
    let mut text = String::new();
    (0..shared).for_each(|s| text += &format!("shared s{s} = {}\n", draw.below(5)));
    for _ in 0..1 + draw.below(4) {
        text += &format!("init T{}({}, {})\n", draw.below(types), draw.below(6), draw.below(9));
    }
    for kind in 0..types {
        text += &format!("T{kind}(0, j) -> {{j}}");
        text += &random_items(draw, types, shared, 0);
        text += "\n";
        for _ in 0..draw.below(3) {
            text += &format!("T{kind}(i, j) ->");
            text += &random_items(draw, types, shared, 3);
            text += &format!(" for {} {} {}\n", random_value(draw, shared), draw.of(&["<", ">=", "!="]), draw.below(6));
        }
        text += &format!("T{kind}(i, j) ->");
        text += &random_items(draw, types, shared, 2);
        text += "\n";
    }
    text
}

fn random_value(draw: &mut Draw, shared: u64) -> String {
    match draw.below(if shared > 0 { 5 } else { 2 }) {
        0 => "j".to_owned(),
        1 => draw.below(9).to_string(),
        2 => format!("(s{} + j) % 7", draw.below(shared)),
        _ => format!("s{}", draw.below(shared)),
    }
}

fn random_items(draw: &mut Draw, types: u64, shared: u64, children: u64) -> String {
    let mut text = String::new();
    for _ in 0..draw.below(5) {
        text += &match draw.below(6) {
            0 if shared > 0 => format!(" <s{} = ({}) % 11>", draw.below(shared), random_value(draw, shared)),
            1 => format!(" {{uniform(0, {})}}", draw.below(50)),
            2 if children > 0 => {
                let [one, other] = [random_child(draw, types, shared), random_child(draw, types, shared)];
                format!(" [{one} | 2: {other} {{1}} | {{3}}]")
            }
            3 | 4 if children > 0 => format!(" {}", random_child(draw, types, shared)),
            _ => format!(" {{{}}}", random_value(draw, shared)),
        };
    }
    text
}

fn random_child(draw: &mut Draw, types: u64, shared: u64) -> String {
    format!("T{}(i - 1, {})", draw.below(types), random_value(draw, shared))
}

#[test]
fn tasks_do_what_the_serial_program_does() {
    let all: Vec<_> = Names::star().collect();
    let mut draw = Draw(11);
    for case in 0..300 {
        let text = random_grammar(&mut draw);
        let grammar = Grammar::new("random", &text);
        let mut job = grammar.prepare(case, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        let names = draw.of(&all);
        let workers = draw.of(&[1, 2, 3, 8]);
        let runtime = AnyRuntime::build(Runtime::builder().workers(workers), names).expect("a runtime");
        job.serial(&mut Stopwatch::default()).expect("the serial program");
        let serial = job.check().expect("a verdict");
        job.run(&runtime, &mut Stopwatch::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let tasks = job.check().expect("a verdict");
        assert!(serial.verified && tasks.verified, "{names}, {workers} workers\n{text}\n{serial:?}\n{tasks:?}");
        assert_eq!(serial.result, tasks.result);
    }
}
