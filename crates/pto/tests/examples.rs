//! Every example runs, and its assertions hold.

macro_rules! examples {
    ($($name:ident = $path:literal),* $(,)?) => {
        $(
            #[path = $path]
            mod $name;
        )*

        /// The names of the examples that are run.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        mod run {
            $(
                #[test]
                fn $name() {
                    super::$name::main().unwrap();
                }
            )*
        }
    };
}

examples! {
    comm_tscatter_basic = "../../../examples/rust/comm_tscatter_basic.rs",
    comm_tscatter_ping_pong = "../../../examples/rust/comm_tscatter_ping_pong.rs",
    host_arrays = "../../../examples/rust/host_arrays.rs",
    mgather_elem = "../../../examples/rust/mgather_elem.rs",
    mgather_row = "../../../examples/rust/mgather_row.rs",
    mscatter_auto = "../../../examples/rust/mscatter_auto.rs",
    mscatter_dynamic = "../../../examples/rust/mscatter_dynamic.rs",
    mscatter_elem_sparse = "../../../examples/rust/mscatter_elem_sparse.rs",
    mscatter_embedding = "../../../examples/rust/mscatter_embedding.rs",
    mscatter_gradient_accumulation = "../../../examples/rust/mscatter_gradient_accumulation.rs",
    mscatter_last = "../../../examples/rust/mscatter_last.rs",
    mscatter_manual = "../../../examples/rust/mscatter_manual.rs",
    mscatter_manual_half = "../../../examples/rust/mscatter_manual_half.rs",
    mscatter_row_atomic_add = "../../../examples/rust/mscatter_row_atomic_add.rs",
    mscatter_scalar = "../../../examples/rust/mscatter_scalar.rs",
    mscatter_sparse_update = "../../../examples/rust/mscatter_sparse_update.rs",
    mscatter_weight_update = "../../../examples/rust/mscatter_weight_update.rs",
    record_embedding = "../../../examples/rust/record_embedding.rs",
    record_race = "../../../examples/rust/record_race.rs",
    tscatter_auto = "../../../examples/rust/tscatter_auto.rs",
    tscatter_manual = "../../../examples/rust/tscatter_manual.rs",
    tscatter_mask = "../../../examples/rust/tscatter_mask.rs",
}

#[test]
fn none_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rust");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".rs").map(String::from))
        .collect();
    found.sort();
    assert_eq!(found, NAMES);
}
