//! Every code of the 8-bit floats against the values that published decoders give (`float8.tsv`).

use pto_isa::{F8E4M3, F8E5M2, HiF8};

#[test]
fn every_code_decodes_as_published() {
    let mut codes = 0;
    for line in include_str!("float8.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let code = u8::from_str_radix(fields[0], 16).unwrap();
        let values =
            [F8E4M3::from_bits(code).to_f32(), F8E5M2::from_bits(code).to_f32(), HiF8::from_bits(code).to_f32()];
        for (value, published) in values.iter().zip(&fields[1..]) {
            if *published == "nan" {
                assert!(value.is_nan(), "{line}: {value}");
            } else {
                assert_eq!(value.to_bits(), u32::from_str_radix(published, 16).unwrap(), "{line}: {value}");
            }
        }
        codes += 1;
    }
    assert_eq!(codes, 256);
}
