//! Compiles the peers that are C++ programs, each to an executable of its own, so that their threads do not meet in one
//! process. What does not compile is missing, and what the compiler said stands in a file; the build never fails.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that is to be made.
struct Program {
    name: &'static str,
    source: &'static str,
    /// The compiler, if it is not to be the usual one.
    compiler: Option<&'static str>,
    /// Flags that are tried in turn.
    flags: &'static [&'static [&'static str]],
}

static PROGRAMS: &[Program] = &[
    Program { name: "onetbb", source: "onetbb.cpp", compiler: None, flags: &[&["-pthread", "-ltbb"]] },
    Program { name: "libgomp", source: "openmp.cpp", compiler: Some("g++"), flags: &[&["-fopenmp"]] },
    Program { name: "libomp", source: "openmp.cpp", compiler: Some("clang++"), flags: &[&["-fopenmp"]] },
    Program {
        name: "starpu",
        source: "starpu.cpp",
        compiler: None,
        flags: &[
            &["-I/usr/include/starpu/1.3", "-pthread", "-lstarpu-1.3"],
            &["-I/usr/include/starpu/1.4", "-pthread", "-lstarpu-1.4"],
        ],
    },
];

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo says where"));
    // Packages that come or go change these folders.
    for place in ["build.rs", "cpp", "/usr/bin", "/usr/include"].iter().filter(|place| Path::new(place).exists()) {
        println!("cargo::rerun-if-changed={place}");
    }
    println!("cargo::rerun-if-env-changed=CXX");
    println!("cargo::rustc-env=MILLPOND_PEERS={}", out.display());
    for program in PROGRAMS {
        let (made, said) = (out.join(program.name), out.join(format!("{}.txt", program.name)));
        // What an earlier build left must not stand for this one. That there was nothing is as good.
        let _ = std::fs::remove_file(&made);
        let message = compile(program, &made).err().unwrap_or_default();
        std::fs::write(&said, message).expect("the folder that Cargo gave can be written to");
    }
}

/// Makes the program, or says why not.
fn compile(program: &Program, made: &Path) -> Result<(), String> {
    if std::env::var("HOST") != std::env::var("TARGET") {
        return Err("not made for another machine".to_owned());
    }
    let mut messages = String::new();
    for flags in program.flags {
        let mut command = compiler(program)?;
        match command.arg(format!("cpp/{}", program.source)).args(*flags).arg("-o").arg(made).output() {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => messages += &String::from_utf8_lossy(&output.stderr),
            Err(error) => messages += &format!("{}: {error}\n", command.get_program().display()),
        }
    }
    Err(messages)
}

/// The compiler with the flags that all programs share.
fn compiler(program: &Program) -> Result<Command, String> {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(2).debug(false).pic(false).cargo_metadata(false).cargo_warnings(false);
    if let Some(compiler) = program.compiler {
        build.compiler(compiler);
    }
    Ok(build.try_get_compiler().map_err(|error| error.to_string())?.to_command())
}
