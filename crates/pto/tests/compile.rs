//! What must not compile, and what the compiler says about it. `TRYBUILD=overwrite` re-blesses the expectations.

#[test]
fn illegal_instructions_do_not_compile() {
    let cases = trybuild::TestCases::new();
    // A passing case makes trybuild generate code, and with it evaluate the assertions of generic functions.
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/bounds/*.rs");
    cases.compile_fail("tests/ui/rules/*.rs");
}
