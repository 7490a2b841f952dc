//! What the compiler says of types that cannot be saved, in the user's terms.
//!
//! The expected output is that of the stable compiler; the derive's own errors
//! have snapshots in `src/tests`.

#[test]
fn refusals_say_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
