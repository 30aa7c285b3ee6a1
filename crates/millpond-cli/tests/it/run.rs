//! The contract of `millpond run` and `list`.

use crate::common::{Dir, f8, json, npy, words};
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

const FIELDS: [&str; 9] =
    ["workload", "params", "config", "tasks", "seconds", "median_seconds", "peak_rss_bytes", "verified", "result"];

#[test]
fn the_object_has_exactly_the_fields_of_the_contract() {
    let run = json("run cholesky --n 100 --tile 30 --workers 2 --reps 3 --json");
    assert_eq!(keys(&run), FIELDS);
    assert_eq!(run["workload"], "cholesky");
    assert_eq!(run["params"], json!({ "n": 100, "tile": 30, "seed": 1 }));
    let config = json!({ "workers": 2, "scheme": "parked", "pool": "default", "memory": "default",
        "deterministic": false, "window": 4096 });
    assert_eq!(run["config"], config);
    assert_eq!(run["tasks"], 20);
    assert_eq!(run["seconds"].as_array().expect("an array").len(), 3);
    assert!(run["median_seconds"].as_f64().expect("a number") > 0.0);
    assert!(run["peak_rss_bytes"].as_u64().expect("an integer") > 0);
    assert_eq!(run["verified"], true);
    assert_eq!(keys(&run["result"]), ["scaled_residual"]);
}

#[test]
fn serial_seconds_only_when_asked_for() {
    let run = json("run fib --n 10 --serial --json");
    assert_eq!(keys(&run).len(), FIELDS.len() + 1);
    assert!(run["serial_seconds"].is_f64());
}

#[test]
fn every_workload_gives_its_result() {
    let cases = [
        ("cholesky --n 1", "scaled_residual", None, json!({ "n": 1, "tile": 1, "seed": 1 })),
        ("cholesky --n 301 --seed 7", "scaled_residual", None, json!({ "n": 301, "tile": 125, "seed": 7 })),
        ("matmul --n 130 --tile 50", "scaled_error", None, json!({ "n": 130, "tile": 50, "seed": 1, "order": "ijk" })),
        (
            "matmul --n 130 --tile 50 --order kij",
            "scaled_error",
            None,
            json!({ "n": 130, "tile": 50, "seed": 1, "order": "kij" }),
        ),
        ("fib --n 0", "value", Some(0), json!({ "n": 0, "cutoff": 0, "tasks": "portable" })),
        ("fib --n 16", "value", Some(987), json!({ "n": 16, "cutoff": 0, "tasks": "portable" })),
        ("fib --n 20 --cutoff 10", "value", Some(6765), json!({ "n": 20, "cutoff": 10, "tasks": "portable" })),
        ("fib --n 16 --tasks closures", "value", Some(987), json!({ "n": 16, "cutoff": 0, "tasks": "closures" })),
        ("fib-join --n 20", "value", Some(6765), json!({ "n": 20, "cutoff": 0 })),
        ("knary --n 1 --k 1", "nodes", Some(1), json!({ "n": 1, "k": 1, "r": 1, "cutoff": 0, "tasks": "portable" })),
        (
            "knary --n 5 --k 4 --r 4",
            "nodes",
            Some(341),
            json!({ "n": 5, "k": 4, "r": 4, "cutoff": 0, "tasks": "portable" }),
        ),
        (
            "knary --n 6 --k 3 --cutoff 3",
            "nodes",
            Some(364),
            json!({ "n": 6, "k": 3, "r": 2, "cutoff": 3, "tasks": "portable" }),
        ),
        ("nqueens --n 7", "solutions", Some(40), json!({ "n": 7, "cutoff": 0, "tasks": "portable" })),
        ("nqueens --n 8 --cutoff 4", "solutions", Some(92), json!({ "n": 8, "cutoff": 4, "tasks": "portable" })),
        (
            "knary --n 5 --k 4 --r 1 --tasks closures",
            "nodes",
            Some(341),
            json!({ "n": 5, "k": 4, "r": 1, "cutoff": 0, "tasks": "closures" }),
        ),
        ("nqueens --n 7 --tasks closures", "solutions", Some(40), json!({ "n": 7, "cutoff": 0, "tasks": "closures" })),
        ("nqueens --n 6 --cutoff 18", "solutions", Some(4), json!({ "n": 6, "cutoff": 18, "tasks": "portable" })),
        (
            "nqueens --n 13 --cutoff 10",
            "solutions",
            Some(73_712),
            json!({ "n": 13, "cutoff": 10, "tasks": "portable" }),
        ),
    ];
    for (line, name, value, params) in cases {
        for runtime in ["--workers 1", "--workers 4 --window 16", "--deterministic"] {
            let run = json(&format!("run {line} {runtime} --json"));
            assert_eq!(run["verified"], true, "{line} {runtime}");
            assert_eq!(run["params"], params, "{line}");
            assert_eq!(keys(&run["result"]), [name], "{line}");
            if let Some(value) = value {
                assert_eq!(run["result"][name], value, "{line} {runtime}");
            }
        }
    }
}

#[test]
fn a_stencil_has_the_same_bits_however_it_is_cut() {
    let result = |line: &str| {
        let run = json(&format!("run stencil --n 1001 --steps 40 {line} --json"));
        assert_eq!(keys(&run["params"]), ["n", "steps", "tile", "tasks"], "{line}");
        assert!(run["result"]["max_error"].as_f64().expect("a number") < 1e-12, "{line}");
        assert_eq!(run["verified"], true, "{line}");
        run["result"].clone()
    };
    let whole = result("");
    assert_eq!(keys(&whole), ["max_error", "checksum"]);
    assert!(whole["checksum"].is_u64());
    for line in
        ["--tile 1", "--tile 100 --workers 3", "--tile 1000 --scheme list", "--tile 77 --window 2", "--tasks closures"]
    {
        assert_eq!(result(line), whole, "{line}");
    }
}

#[test]
fn a_tree_has_the_same_counts_in_every_form() {
    let custom = |shape: &str, b0, q: Value, m: Value, depth: Value, seed| json!({ "tree": "custom", "shape": shape, "b0": b0, "q": q, "m": m, "depth": depth, "seed": seed });
    // The counts of another program.
    let cases = [
        ("--depth 4", custom("fixed", 4.0, Value::Null, Value::Null, json!(4), 19), [944, 744, 4], 1486),
        (
            "--shape binomial --b0 100.5 --seed 42",
            custom("binomial", 100.5, json!(0.12), json!(8), Value::Null, 42),
            [981, 870, 17],
            1738,
        ),
        (
            "--shape hybrid --b0 6 --q 0.234375 --m 4 --depth 4 --seed 1",
            custom("hybrid", 6.0, json!(0.234375), json!(4), json!(4), 1),
            [994, 751, 22],
            1500,
        ),
        // Deeper than one round of `uts-join`.
        (
            "--shape hybrid --b0 6 --q 0.234375 --m 4 --depth 6 --seed 1",
            custom("hybrid", 6.0, json!(0.234375), json!(4), json!(6), 1),
            [5522, 4150, 72],
            8366,
        ),
    ];
    for (line, params, [nodes, leaves, depth], branches) in cases {
        for form in ["uts --tasks portable", "uts --tasks closures", "uts --scheme stack", "uts-join --workers 3"] {
            let mut run = json(&format!("run {form} {line} --json"));
            if let Some(params) = run["params"].as_object_mut() {
                params.remove("tasks");
            }
            assert_eq!(run["verified"], true, "{form} {line}");
            assert_eq!(run["params"], params, "{form} {line}");
            assert_eq!(run["result"], json!({ "nodes": nodes, "leaves": leaves, "depth": depth }), "{form} {line}");
            let tasks = if form.starts_with("uts-join") { branches } else { nodes };
            assert_eq!(run["tasks"], tasks, "{form} {line}");
        }
    }
}

#[test]
fn negative_zero_is_zero() {
    let run = json("run uts --b0 -0 --json");
    assert!(run["params"]["b0"].as_f64().is_some_and(f64::is_sign_positive), "{run}");
}

#[test]
fn options_may_come_before_the_workload() {
    assert_eq!(json("run --json --workers 3 fib --n 5")["config"]["workers"], 3);
}

#[test]
fn the_number_of_tasks() {
    let tasks = |line: &str| json(&format!("run {line} --json"))["tasks"].clone();
    assert_eq!(tasks("cholesky --n 40 --tile 10"), 20);
    assert_eq!(tasks("matmul --n 40 --tile 10"), 64);
    // fib(3): itself and its sum, fib(2) likewise, and three leaves.
    assert_eq!(tasks("fib --n 3"), 7);
    assert_eq!(tasks("fib --n 3 --cutoff 2"), 4);
    assert_eq!(tasks("fib-join --n 3"), 4);
    // One task per node. With subtrees of two levels as leaves, 1 + 3 + 9 + 27.
    assert_eq!(tasks("knary --n 5 --k 3"), 121);
    assert_eq!(tasks("knary --n 5 --k 3 --cutoff 2"), 40);
    assert_eq!(tasks("knary --n 5 --k 3 --cutoff 64"), 1);
    // Four queens: 2 in the left half of the first row, 3 below them, then 2, then 1.
    assert_eq!(tasks("nqueens --n 4"), 8);
    assert_eq!(tasks("nqueens --n 4 --cutoff 2"), 5);
    // Three queens: one in the first column and one below it, and none below one in the middle.
    assert_eq!(tasks("nqueens --n 3"), 2);
    assert_eq!(tasks("nqueens --n 1"), 1);
    // Seven tiles. The last one is smaller.
    assert_eq!(tasks("stencil --n 20 --steps 5 --tile 3"), 35);
    assert_eq!(tasks("stencil --n 20 --steps 0"), 0);
}

#[test]
fn a_table_for_people() {
    let ran = words("run nqueens --n 6 --verbose --serial --reps 2");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    for word in ["nqueens", "solutions", "4", "verified", "yes", "serial", "scheme parked"] {
        assert!(ran.stdout.contains(word), "{word}: {}", ran.stdout);
    }
}

/// L = [[2, 0], [1, 3]], so A = L L^T = [[4, 2], [2, 10]].
const L: [f64; 4] = [2.0, 1.0, 0.0, 3.0];

#[test]
fn factors_a_file_and_writes_the_factor() {
    let dir = Dir::new("factor");
    let files = [
        dir.file("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n2 2 3\n1 1 4\n2 1 2\n2 2 10\n"),
        dir.file("u.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n1 2 2\n2 2 10\n"),
        dir.file("g.mtx", "%%MatrixMarket matrix array real general\n2 2\n4\n2\n2\n10\n"),
        dir.file("a.npy", npy("<f8", false, "(2, 2)", &f8(&[4.0, 2.0, 2.0, 10.0]))),
        dir.file("b.npy", npy(">f8", false, "(2, 2)", &[4.0f64, 2.0, 2.0, 10.0].map(f64::to_be_bytes).concat())),
        dir.file("f4.npy", npy("<f4", true, "(2, 2)", &[4.0f32, 2.0, 2.0, 10.0].map(f32::to_le_bytes).concat())),
        dir.file("i8.npy", npy("<i8", false, "(2, 2)", &[4i64, 2, 2, 10].map(i64::to_le_bytes).concat())),
        dir.file("f.npy", npy(">i2", true, "(2, 2)", &[0, 4, 0, 2, 0, 2, 0, 10])),
    ];
    for file in files {
        let output = dir.path("L.npy");
        let run = json(&format!("run cholesky --input {file} --output {output} --json"));
        assert_eq!(run["params"], json!({ "n": 2, "tile": 2, "seed": null, "input": file, "output": output }));
        let bytes = std::fs::read(&output).expect("the factor");
        assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
        assert_eq!((bytes.len() - 32) % 64, 0, "the data are aligned");
        assert_eq!(bytes[bytes.len() - 32..], f8(&L));
        std::fs::remove_file(&output).expect("the factor can be removed");
    }
    assert_eq!(dir.names(), ["a.mtx", "a.npy", "b.npy", "f.npy", "f4.npy", "g.mtx", "i8.npy", "u.mtx"]);
}

#[test]
fn an_output_replaces_what_was_there() {
    let dir = Dir::new("replaces");
    let output = dir.file("L.npy", "before");
    let link = dir.path("link.npy");
    std::os::unix::fs::symlink(&output, &link).expect("a link");
    json(&format!("run cholesky --n 1 --output {link} --json"));
    assert!(std::fs::read(&output).expect("the factor").starts_with(b"\x93NUMPY"));
    assert!(std::fs::symlink_metadata(&link).expect("the link").is_symlink());
    assert_eq!(dir.names(), ["L.npy", "link.npy"]);
}

/// The system kills a process that writes a file beyond the limit.
#[test]
fn a_run_that_is_killed_while_it_writes_leaves_nothing() {
    let dir = Dir::new("killed");
    let killed = |job: &str| {
        let script = format!("ulimit -f 8 && exec \"$0\" run {job}");
        let ran = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_millpond")]).output().expect("a shell");
        assert!(ran.status.signal().is_some() && ran.stdout.is_empty(), "{job}: {ran:?}");
    };
    let jobs = |output: &str| {
        [
            format!("cholesky --n 100 --output {output}"),
            format!("denoise --size 256 --iterations 1 --output {output}"),
            format!("fileconcat --files 99 --output {output}"),
            format!("blackscholes --options 9999 --output {output}"),
        ]
    };
    jobs(&dir.path("new")).iter().for_each(|job| killed(job));
    assert!(dir.names().is_empty(), "{:?}", dir.names());
    let old = dir.file("old", "before");
    jobs(&old).iter().for_each(|job| killed(job));
    assert_eq!((dir.names(), std::fs::read(&old).expect("the file")), (vec!["old".to_owned()], b"before".to_vec()));
}

#[test]
fn what_is_written_can_be_read() {
    let dir = Dir::new("again");
    let (first, second) = (dir.path("1.npy"), dir.path("2.npy"));
    json(&format!("run cholesky --n 1 --output {first} --json"));
    json(&format!("run cholesky --input {first} --output {second} --json"));
    assert_eq!(dir.names(), ["1.npy", "2.npy"]);
}

#[test]
fn lists() {
    let all = json("list --json");
    assert_eq!(keys(&all), ["workloads", "schemes", "pools", "memory"]);
    for (kind, name) in [("workloads", "cholesky"), ("schemes", "parked"), ("pools", "default"), ("memory", "default")]
    {
        let one = json(&format!("list {kind} --json"));
        assert_eq!(keys(&one), [kind]);
        assert_eq!(one[kind][0]["name"], name);
        assert!(words(&format!("list {kind}")).stdout.contains(name));
    }
}
