//! Files written by NumPy, ml_dtypes, en_dtypes and safetensors (`fixtures/make.py`) read here, and what is written
//! here compared with them byte for byte.

#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::path::{Path, PathBuf};

use pto_data::{Array, DataError, DataType, Number, Value, npy, safetensors};
use pto_isa::{ElementClass, ElementType};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The values 0 to 5 as 2x3, what every fixture of an element type holds.
fn zero_to_five(element: ElementType) -> Array {
    let value: Value = "iota:2x3".parse().unwrap();
    value.load_array(element).unwrap()
}

fn is_bits(element: ElementType) -> bool {
    element == ElementType::BF16 || element.class() == ElementClass::Float8
}

#[test]
fn npy_of_every_element_type() {
    for element in ElementType::ALL {
        let value = Value::Npy(fixture(&format!("{element}.npy")));
        assert_eq!(value.load_array(element).unwrap(), zero_to_five(element), "{element}");
    }
}

#[test]
fn npy_is_written_as_numpy_writes_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.npy");
    for element in ElementType::ALL {
        npy::write(&path, &zero_to_five(element)).unwrap();
        let mut expected = std::fs::read(fixture(&format!("{element}.npy"))).unwrap();
        if element == ElementType::F8E5M2 {
            // NumPy cannot load its own `<f1`.
            let place = expected.windows(3).position(|w| w == b"<f1").unwrap();
            expected[place + 1] = b'V';
        }
        assert_eq!(std::fs::read(&path).unwrap(), expected, "{element}");
    }
    for name in ["zero_dim.npy", "one_dim.npy", "empty.npy"] {
        npy::write(&path, &npy::read(&fixture(name)).unwrap()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(fixture(name)).unwrap(), "{name}");
    }
}

#[test]
fn npy_versions_and_orders() {
    let f32 = zero_to_five(ElementType::F32);
    for name in ["version2.npy", "version3.npy", "big_endian.npy"] {
        assert_eq!(npy::read(&fixture(name)).unwrap(), f32, "{name}");
    }
    assert_eq!(npy::read(&fixture("big_endian_fortran.npy")).unwrap(), zero_to_five(ElementType::I16));
    let value: Value = "iota:2x3x4".parse().unwrap();
    assert_eq!(npy::read(&fixture("fortran.npy")).unwrap(), value.load_array(ElementType::I16).unwrap());
    assert_eq!(npy::read(&fixture("zero_dim.npy")).unwrap().shape(), [0u64; 0]);
    let empty = npy::read(&fixture("empty.npy")).unwrap();
    assert_eq!((empty.shape(), empty.elements()), ([0, 3].as_slice(), 0));
}

#[test]
fn npy_types_without_use_are_refused_with_advice() {
    for (name, message) in [
        ("structured.npy", "save each field"),
        ("complex.npy", "`<c16` cannot be used"),
        ("text.npy", "`<U2` cannot be used"),
    ] {
        let error = npy::read(&fixture(name)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(message), "{error}");
    }
    let bools = npy::read(&fixture("bool.npy")).unwrap();
    assert_eq!(bools.data_type(), &DataType::Opaque { name: "|b1".into(), width: 1 });
}

/// Every file for every parameter: accepted exactly if the types are the same, or the parameter is bits of that width.
#[test]
fn element_types_must_match_except_for_bits() {
    for found in ElementType::ALL {
        for expected in ElementType::ALL {
            let loaded = Value::Npy(fixture(&format!("{found}.npy"))).load_array(expected);
            let tensor = Value::SafeTensors { path: fixture("all.safetensors"), key: found.to_string() };
            let tensor = tensor.load_array(expected);
            let legal = found == expected || is_bits(expected) && found.size() == expected.size();
            assert_eq!(loaded.is_ok(), legal, "npy {found} for {expected}");
            // safetensors has no hif8: the fixture's is a u8.
            let as_u8 = found == ElementType::HiF8 && expected == ElementType::U8;
            assert_eq!(tensor.is_ok(), legal || as_u8, "safetensors {found} for {expected}");
            match loaded {
                Ok(array) => {
                    assert_eq!(array.data_type(), &DataType::Element(expected));
                    assert_eq!(array.bytes(), zero_to_five(found).bytes());
                }
                Err(error @ DataError::File { .. }) => {
                    let text = error.to_string();
                    assert!(text.contains(&format!("expected elements of type {expected}")), "{text}");
                    if !is_bits(found) {
                        assert!(text.contains(&format!("found {found}")), "{text}");
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn safetensors_of_every_element_type() {
    for element in ElementType::ALL {
        let value = Value::SafeTensors { path: fixture("all.safetensors"), key: element.to_string() };
        assert_eq!(value.load_array(element).unwrap(), zero_to_five(element), "{element}");
    }
    let flag = safetensors::read(&fixture("all.safetensors"), "flag").unwrap();
    assert_eq!((flag.data_type().width(), flag.bytes()), (1, [1, 0].as_slice()));
    let error = safetensors::read(&fixture("all.safetensors"), "missing").unwrap_err().to_string();
    assert!(error.contains("no tensor `missing`: the file holds bf16, f16, f32") && error.contains("more"), "{error}");
}

/// Scalars and `iota:` round as ml_dtypes and en_dtypes do.
#[test]
fn rounding_agrees_with_the_published_types() {
    let values = npy::read(&fixture("rounding_values.npy")).unwrap();
    let values = values.bytes().chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap())));
    for name in ["f16", "bf16", "f8e4m3", "f8e5m2", "hif8"] {
        let element = ElementType::from_name(name).unwrap();
        let codes = npy::read(&fixture(&format!("rounding_{name}.npy"))).unwrap();
        for (value, code) in values.clone().zip(codes.bytes().chunks(element.size() as usize)) {
            let scalar = Number::Float(value).to_scalar(element).unwrap();
            // All NaN codes are one value.
            let expected = code.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
            let both_nan = scalar.float().unwrap().is_nan() && expected & 0x7f == 0x7f && name == "f8e4m3";
            assert!(
                scalar.bits() == expected || both_nan,
                "{value} as {name}: {:#x}, not {expected:#x}",
                scalar.bits()
            );
        }
    }
}
