//! An error is one short line, whatever the arguments and the files contain.

use crate::common::{Dir, fails, millpond};

/// The one line of a refusal.
#[track_caller]
fn line(arguments: &[&str]) -> String {
    let ran = millpond(arguments);
    assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("", 1), "{ran:?}");
    assert!(ran.status > 0 && ran.stderr.len() <= 512, "{} bytes: {ran:?}", ran.stderr.len());
    assert!(ran.stderr.trim_end_matches('\n').chars().all(|c| !c.is_control()), "{ran:?}");
    ran.stderr
}

#[test]
fn long_words_are_cut() {
    let dir = Dir::new("long");
    let long = "9".repeat(100_000);
    let array = format!("%%MatrixMarket matrix array real general\n1 1\n{long}x\n");
    let file = dir.file("a.mtx", &array);
    assert!(line(&["run", "cholesky", "--input", &file]).ends_with("999x` is not a number\n"));
    let huge = dir.file("huge.mtx", array.replace("9x", "9"));
    assert!(line(&["run", "cholesky", "--input", &huge]).ends_with("999` is not a finite number\n"));
    let grammar = dir.file("a.grammar", format!("init A\nA -> {{{long}}}\n"));
    assert!(line(&["run", "grammar", "--file", &grammar]).ends_with("is more than 9223372036854775807\n"));
    let options = dir.file("a.txt", format!("1\n{long}y 40 0.1 0 0.2 0.5 C 0 4.7\n"));
    assert!(line(&["run", "blackscholes", "--input", &options]).ends_with("999y` is not a number\n"));
    line(&["run", &long]);
    line(&["run", "fib", "--n", &long]);
    line(&["run", "fib", &format!("--{long}")]);
    line(&["run", "fib", "--pool", &long]);
    line(&["run", "grammar", "--set", &long]);
    line(&["run", "denoise", "--input", &long]);
    line(&["run", "cholesky", "--n", "1", "--output", &long]);
}

#[test]
fn control_characters_are_escaped() {
    let dir = Dir::new("control");
    let file = dir.file("a\n\u{1b}[2J.mtx", "%%MatrixMarket matrix array real general\n1 1\n\u{1b}[31m\u{7}\n");
    let name = file.replace('\n', "\\n").replace('\u{1b}', "\\u{1b}");
    fails(
        &["run", "cholesky", "--input", &file],
        1,
        &format!("{name}: line 3: `\\u{{1b}}[31m\\u{{7}}` is not a number"),
    );
    line(&["run", "fib", "--pool", "\u{1b}[31m\r\n"]);
    line(&["run", "\u{1b}[31m\r\n"]);
}
