//! Compiles the peers in C++. Each is a separate executable, so that their threads are not in one
//! process. If one does not compile, it is missing, and a file has the compiler's output. The build
//! never fails.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program to build.
struct Program {
    name: &'static str,
    source: &'static str,
    /// The compiler, if not the usual one.
    compiler: Option<&'static str>,
    /// Flags to try in turn.
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
    // These folders change when packages are installed or removed.
    for place in ["build.rs", "cpp", "/usr/bin", "/usr/include"].iter().filter(|place| Path::new(place).exists()) {
        println!("cargo::rerun-if-changed={place}");
    }
    println!("cargo::rerun-if-env-changed=CXX");
    println!("cargo::rustc-env=MILLPOND_PEERS={}", out.display());
    for program in PROGRAMS {
        let (made, said) = (out.join(program.name), out.join(format!("{}.txt", program.name)));
        // Removes the output of an earlier build. It is no error if there is none.
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
