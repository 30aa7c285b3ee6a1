//! Options from a file. Those that can be priced are priced. Others get exit status 1, and one line
//! on stderr that names the file and the place. They get nothing on stdout, and leave no output
//! file behind.

use crate::common::{Dir, fails, json, millpond};

/// Two options of PARSEC's data.
const CALL: &str = "42.00 40.00 0.1000 0.00 0.20 0.50 C 0.00 4.759423036851750055";
const PUT: &str = "42.00 40.00 0.1000 0.00 0.20 0.50 P 0.00 0.808600016880314021";

/// Pricing the file fails with these words after its name. The directory stays as it was.
#[track_caller]
fn refused(content: impl AsRef<[u8]>, says: &str) {
    let dir = Dir::new("options");
    let (input, output) = (dir.file("in.txt", content), dir.path("prices.txt"));
    fails(&["run", "blackscholes", "--json", "--input", &input, "--output", &output], 1, &format!("{input}: {says}"));
    assert_eq!(dir.names(), ["in.txt"], "nothing is left behind");
}

/// As `refused`, for a file of one option.
#[track_caller]
fn refused_option(line: &str, says: &str) {
    refused(format!("1\n{line}\n"), &format!("line 2: {says}"));
}

#[test]
fn options_of_parsec_are_priced() {
    let dir = Dir::new("options");
    let output = dir.path("prices.txt");
    // Also with the line ends of other systems, and with none after the last line.
    for text in [format!("2\n{CALL}\n{PUT}\n"), format!("2\r\n{CALL}\r\n{PUT}"), format!("\n2\n\n{CALL}\n{PUT}\n\n")] {
        let input = dir.file("in.txt", text);
        let line = format!("run blackscholes --json --granularity 1 --input {input} --output {output}");
        let found = json(&line);
        assert_eq!((&found["tasks"], &found["result"]["options"]), (&2.into(), &2.into()));
        assert!(found["params"]["seed"].is_null());
        let prices = std::fs::read_to_string(&output).expect("the prices");
        let prices: Vec<f64> = prices.lines().map(|price| price.parse().expect("a number")).collect();
        assert!((prices[0] - 4.7594).abs() < 1e-4 && (prices[1] - 0.8086).abs() < 1e-4, "{prices:?}");
    }
}

#[test]
fn a_wrong_reference_is_found() {
    let dir = Dir::new("options");
    let input = dir.file("in.txt", format!("2\n{CALL}\n{}\n", PUT.replace("0.8086", "0.8088")));
    let ran = millpond(&["run", "blackscholes", "--json", "--input", &input]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).expect("a JSON object");
    let error = found["result"]["max_abs_error"].as_f64().expect("a number");
    assert!(found["verified"] == false && (1e-4..3e-4).contains(&error), "{ran:?}");
}

#[test]
fn the_number_of_options() {
    refused("", "line 1: the file is empty");
    refused("\n \n", "line 1: the file is empty");
    refused("0\n", "line 1: `0` is not the number of options: expected 1..=67108864");
    refused("-1\n", "line 1: `-1` is not the number of options: expected 1..=67108864");
    refused(CALL, &format!("line 1: `{CALL}` is not the number of options: expected 1..=67108864"));
    refused("67108865\n", "line 1: 67108865 options are too many: at most 67108864");
    refused(b"\xff\xff\n", "line 1: not text");
    refused(format!("2\n{CALL}\n"), "line 3: the file is truncated: 1 of 2 options");
    refused("60000000\n", "line 2: the file is truncated: 0 of 60000000 options");
    refused(format!("\n1\n\n{CALL}\n{PUT}\n"), "line 5: more than the 1 options of line 2");
}

#[test]
fn fields() {
    let fields = "expected `spot strike rate dividend volatility time type dividend-values reference-price`";
    refused_option("42 40 0.1 0 0.2 0.5 C 0", &format!("{fields}, found 8 words"));
    refused_option(&format!("{CALL} 1"), &format!("{fields}, found 10 words"));
    refused_option(&CALL.replacen("42.00", "abc", 1), "spot `abc` is not a number");
    refused_option(&CALL.replacen("42.00", "0", 1), "spot `0`: expected a number above 0");
    refused_option(&CALL.replacen("40.00", "-40", 1), "strike `-40`: expected a number above 0");
    refused_option(&CALL.replacen("0.1000", "nan", 1), "rate `nan` is not a finite number");
    refused_option(&CALL.replacen("0.20", "0.0", 1), "volatility `0.0`: expected a number above 0");
    refused_option(&CALL.replacen("0.50", "inf", 1), "time `inf` is not a finite number");
    refused_option(&CALL.replace('C', "c"), "type `c`: expected C (a call) or P (a put)");
    refused_option(
        &CALL.replacen("4.75", "1e999", 1).replace("9423036851750055", ""),
        "reference-price `1e999` is not a finite number",
    );
    let none = "expected 0, since the formula is that of options without dividends";
    refused_option(&CALL.replacen(" 0.00", " 0.01", 1), &format!("dividend `0.01`: {none}"));
    refused_option(&CALL.replace("C 0.00", "C 2"), &format!("dividend-values `2`: {none}"));
    refused(format!("3\n{CALL}\n{PUT}\n\n42\n"), &format!("line 5: {fields}, found 1 words"));
    refused(b"1\n42.00 \xff\n", "line 2: not text");
}

#[test]
fn options_that_exclude_one_another() {
    let dir = Dir::new("options");
    let input = dir.file("in.txt", format!("1\n{CALL}\n"));
    let run = |more: &[&str], says: &str| {
        fails(&[&["run", "blackscholes", "--input", &input], more].concat(), 2, says);
    };
    run(&["--options", "5"], "--options and --input cannot be used together: the file has the options");
    run(&["--seed", "5"], "--seed and --input cannot be used together: the file has the options");
    run(&["--output", &input], "--output and --input cannot be used together: they are the same file");
    assert_eq!(dir.names(), ["in.txt"]);
}

#[test]
fn files_that_cannot_be_used() {
    let dir = Dir::new("options");
    let absent = dir.path("absent");
    let says = format!("{absent}: cannot read: No such file or directory (os error 2)");
    fails(&["run", "blackscholes", "--input", &absent], 1, &says);
    let folder = dir.path("folder");
    std::fs::create_dir(&folder).expect("a directory");
    let says = format!("{folder}: cannot read: Is a directory (os error 21)");
    fails(&["run", "blackscholes", "--input", &folder], 1, &says);
    let says = format!("{folder}: cannot write: is a directory");
    fails(&["run", "blackscholes", "--options", "5", "--output", &folder], 1, &says);
    assert_eq!(dir.names(), ["folder"]);
}
