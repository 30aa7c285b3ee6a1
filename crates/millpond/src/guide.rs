//! The programs in the documentation, compiled and run as tests.

#[doc = include_str!("../../../README.md")]
struct Readme;

#[doc = include_str!("../../../docs/guide/papers/dds.md")]
struct Stack;

#[doc = include_str!("../../../docs/guide/tour.md")]
struct Tour;

#[doc = include_str!("../../../docs/guide/which-tool.md")]
struct WhichTool;

#[doc = include_str!("../../../docs/guide/task-size.md")]
struct TaskSize;

#[doc = include_str!("../../../docs/guide/compiler.md")]
struct Compiler;

#[doc = include_str!("../../../docs/guide/hang.md")]
struct Hang;

#[doc = include_str!("../../../docs/guide/choosing-parts.md")]
struct ChoosingParts;

#[doc = include_str!("../../../docs/guide/coming-from.md")]
struct ComingFrom;

#[doc = include_str!("../../../docs/guide/recipes/loops.md")]
struct RecipesLoops;

#[doc = include_str!("../../../docs/guide/recipes/stencil.md")]
struct RecipesStencil;

#[doc = include_str!("../../../docs/guide/recipes/factorisation.md")]
struct RecipesFactorisation;

#[doc = include_str!("../../../docs/guide/recipes/pipeline.md")]
struct RecipesPipeline;

#[doc = include_str!("../../../docs/guide/recipes/search.md")]
struct RecipesSearch;

#[doc = include_str!("../../../docs/guide/recipes/reduction.md")]
struct RecipesReduction;

#[doc = include_str!("../../../docs/guide/recipes/wavefront.md")]
struct RecipesWavefront;

#[doc = include_str!("../../../docs/guide/recipes/images.md")]
struct RecipesImages;

#[doc = include_str!("../../../docs/guide/recipes/errors.md")]
struct RecipesErrors;

#[doc = include_str!("../../../docs/guide/recipes/helpers.md")]
struct RecipesHelpers;

#[doc = include_str!("../../../docs/guide/recipes/testing.md")]
struct RecipesTesting;

#[doc = include_str!("../../../docs/guide/papers/tp.md")]
struct PapersTp;
