//! The examples of the crate run and check their results. Each has a test.

/// Each example is a module.
macro_rules! examples {
    ($($name:ident $file:literal)*) => {
        $(#[path = $file] mod $name;)*

        #[test]
        fn each_example_has_a_test() {
            let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).expect("a folder");
            let mut files: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
            files.sort();
            assert_eq!(files, [$(concat!(stringify!($name), ".rs")),*]);
        }
    };
}

examples! {
    errors "../../examples/errors.rs"
    game_of_life "../../examples/game_of_life.rs"
    monte_carlo "../../examples/monte_carlo.rs"
    pipeline "../../examples/pipeline.rs"
    quick_start "../../examples/quick_start.rs"
    sparse_lu "../../examples/sparse_lu.rs"
    stencil "../../examples/stencil.rs"
    tree_search "../../examples/tree_search.rs"
}
