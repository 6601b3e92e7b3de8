//! Every element type through every form, generators, and the text of arguments.

#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use pto_data::{Argument, Array, DataType, Destination, Output, SplitMix64, Value, ValueError, save};
use pto_isa::{ElementType, f16};

fn generate(text: &str, element: ElementType) -> Array {
    text.parse::<Value>().unwrap().load_array(element).unwrap()
}

fn refused(text: &str, element: ElementType) -> String {
    text.parse::<Value>().unwrap().load_array(element).unwrap_err().to_string()
}

#[test]
fn every_element_type_through_every_form() {
    let directory = tempfile::tempdir().unwrap();
    for element in ElementType::ALL {
        for shape in ["3x5", "1", "0x4", "2x1x3x2x2"] {
            let array = generate(&format!("rand:{shape}:1"), element);
            for ending in ["npy", "bin", "safetensors", "safetensors:some key:with colon"] {
                let path = format!("{}/out.{ending}", directory.path().display());
                let output: Output = format!("x={path}").parse().unwrap();
                save(&[(&output.destination, &array)]).unwrap();
                let back = output.destination.to_string().parse::<Value>().unwrap().load_array(element).unwrap();
                assert_eq!(back.bytes(), array.bytes(), "{element} {shape} {ending}");
                assert_eq!(back.data_type(), &DataType::Element(element));
                if ending != "bin" {
                    assert_eq!(back.shape(), array.shape());
                }
            }
        }
    }
}

#[test]
fn one_safetensors_file_takes_several_outputs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.safetensors");
    let key = |key: &str| Destination::SafeTensors { path: path.clone(), key: key.into() };
    let (a, b) = (generate("iota:3", ElementType::U8), generate("iota:3", ElementType::F64));
    save(&[(&key("a"), &a), (&key("b"), &b)]).unwrap();
    for (name, array) in [("a", &a), ("b", &b)] {
        assert_eq!(&pto_data::safetensors::read(&path, name).unwrap(), array);
    }
    let error = save(&[(&key("a"), &a), (&key("a"), &b)]).unwrap_err().to_string();
    assert!(error.contains("two outputs go to"), "{error}");
    let error = save(&[(&key("__metadata__"), &a)]).unwrap_err().to_string();
    assert!(error.contains("reserved"), "{error}");
}

#[test]
fn iota_wraps_integers_and_rounds_floats() {
    let bytes = generate("iota:300", ElementType::I8).into_bytes();
    assert!(bytes.iter().enumerate().all(|(i, &b)| b == i as u8));
    let floats = generate("iota:70000", ElementType::F16).into_bytes();
    let at = |i: usize| f16::from_le_bytes([floats[2 * i], floats[2 * i + 1]]).to_f32();
    assert_eq!((at(2048), at(2049), at(2051), at(65519), at(65520)), (2048.0, 2048.0, 2052.0, 65504.0, f32::INFINITY));
    let last = generate("iota:3", ElementType::F64).into_bytes();
    assert_eq!(last[16..], 2f64.to_le_bytes());
}

#[test]
fn rand_is_reproducible_and_in_range() {
    for element in ElementType::ALL {
        let array = generate("rand:1000:5", element);
        assert_eq!(array.bytes(), generate("rand:10x100:5", element).bytes());
        assert_ne!(array, generate("rand:1000:6", element));
        assert_eq!(generate("rand:1000", element), generate("rand:1000:0", element));
        if !element.is_integer() {
            let values = floats(&array);
            assert!(values.iter().all(|v| (0.0..1.0).contains(v)), "{element}");
            let mean = values.iter().sum::<f64>() / 1000.0;
            // Three-bit floats sit on multiples of 1/8, so their mean is 7/16.
            assert!((0.4..0.55).contains(&mean), "{element}: {mean}");
        }
    }
    // Integers reach both halves of their range.
    let bytes: BTreeSet<u8> = generate("rand:5000", ElementType::I8).into_bytes().into_iter().collect();
    assert_eq!(bytes.len(), 256);
}

/// The documented recipe, spelled out.
#[test]
fn rand_follows_its_documentation() {
    let mut random = SplitMix64::new(9);
    let expected: Vec<u8> =
        (0..4).flat_map(|_| ((random.next_u64() >> 40) as f32 / (1 << 24) as f32).to_le_bytes()).collect();
    assert_eq!(generate("rand:4:9", ElementType::F32).bytes(), expected);
}

fn floats(array: &Array) -> Vec<f64> {
    let DataType::Element(element) = *array.data_type() else { panic!("not an element type") };
    let one = |bytes: &[u8]| {
        let bits = bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        match element {
            ElementType::F64 => f64::from_bits(bits),
            ElementType::F32 => f64::from(f32::from_bits(bits as u32)),
            ElementType::F16 => f16::from_bits(bits as u16).to_f64(),
            ElementType::BF16 => pto_isa::bf16::from_bits(bits as u16).to_f64(),
            ElementType::F8E4M3 => f64::from(pto_isa::F8E4M3::from_bits(bits as u8).to_f32()),
            ElementType::F8E5M2 => f64::from(pto_isa::F8E5M2::from_bits(bits as u8).to_f32()),
            _ => f64::from(pto_isa::HiF8::from_bits(bits as u8).to_f32()),
        }
    };
    array.bytes().chunks(element.size() as usize).map(one).collect()
}

#[test]
fn randidx_covers_its_range_and_no_more() {
    let indices: BTreeSet<u8> = generate("randidx:1000:10:3", ElementType::U8).into_bytes().into_iter().collect();
    assert_eq!(indices, (0..10).collect());
    assert!(generate("randidx:100:1", ElementType::I32).bytes().iter().all(|&b| b == 0));
    generate("randidx:10:128", ElementType::I8);
    generate("randidx:10:18446744073709551615", ElementType::U64);
    assert!(refused("randidx:10:129", ElementType::I8).contains("use a bound of at most 128"));
    assert!(refused("randidx:10:18446744073709551615", ElementType::I64).contains("i64 holds at most"));
    assert!(refused("randidx:10:4", ElementType::F32).contains("holds f32: use rand"));
}

#[test]
fn generated_arrays_are_limited() {
    assert!(refused("zeros:4294967297x4", ElementType::U8).contains("more than 16 GiB"));
    assert!(refused("zeros:18446744073709551615x18446744073709551615", ElementType::U8).contains("more than 16 GiB"));
    assert_eq!(generate("zeros:18446744073709551615x18446744073709551615x0", ElementType::U8).elements(), 0);
}

#[test]
fn texts_that_are_no_argument_say_what_was_expected() {
    for (text, message) in [
        ("x", "expected NAME=VALUE or NAME@RANK=VALUE, found `x`"),
        ("=3", "expected NAME=VALUE"),
        ("%=3", "expected NAME=VALUE"),
        ("x=", "expected NAME=VALUE"),
        ("x=weights.pt", "`weights.pt` is not a value: expected FILE.npy"),
        ("x=t.safetensors", "write t.safetensors:KEY"),
        ("x=t.safetensors:", "write t.safetensors:KEY"),
        ("x=zeros:", "`` is not a shape"),
        ("x=zeros:4x", "`4x` is not a shape"),
        ("x=zeros:-4", "`-4` is not a shape"),
        ("x=zeros:+4", "`+4` is not a shape"),
        ("x=zeros:4:1", "does not have the form zeros:SHAPE"),
        ("x=rand:4:a", "`a` is not a seed"),
        ("x=rand:4:1:2", "does not have the form rand:SHAPE[:SEED]"),
        ("x=randidx:4", "does not have the form randidx:SHAPE:BOUND[:SEED]"),
        ("x=randidx:4:0", "`0` is not a bound: expected a whole number from 1"),
        ("x@=1", "expected NAME=VALUE or NAME@RANK=VALUE"),
        ("@1=1", "expected NAME=VALUE or NAME@RANK=VALUE"),
        ("x@-1=1", "expected NAME=VALUE or NAME@RANK=VALUE"),
        ("x=--3", "is not a value"),
        ("x=0x-3", "is not a value"),
    ] {
        let error: ValueError = text.parse::<Argument>().unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    let long = format!("x=zeros:{}", ["1"; 65].join("x"));
    assert!(matches!(long.parse::<Argument>(), Err(ValueError::Shape(_))));
    assert!("x=out.txt".parse::<Output>().unwrap_err().to_string().contains("end it in .npy"));
}

#[test]
fn scalars() {
    let scalar = |text: &str, element| text.parse::<Value>().unwrap().load_scalar(element);
    for element in ElementType::ALL {
        let five = scalar("5", element).unwrap();
        assert_eq!(five.bytes().len() as u64, element.size());
        let value = five.integer().map(|v| v as f64).or(five.float());
        assert_eq!(value, Some(5.0), "{element}");
        if element.is_integer() {
            assert!(scalar("99999999999999999999", element).is_err());
            assert!(scalar("5.0", element).unwrap_err().to_string().contains("expected a whole number from"));
        }
    }
    assert_eq!(scalar("-9223372036854775808", ElementType::I64).unwrap().integer(), Some(i128::from(i64::MIN)));
    assert_eq!(scalar("0xffffffffffffffff", ElementType::U64).unwrap().integer(), Some(i128::from(u64::MAX)));
    assert_eq!(scalar("-1e-3", ElementType::F64).unwrap().float(), Some(-0.001));
    assert!(scalar("nan", ElementType::F32).unwrap().float().unwrap().is_nan());
    assert!(scalar("zeros:3", ElementType::F32).unwrap_err().to_string().contains("give a number"));
}

proptest! {
    #[test]
    fn no_text_makes_parsing_panic(text in "\\PC*") {
        let _ = text.parse::<Argument>();
        let _ = text.parse::<Output>();
    }

    #[test]
    fn what_is_printed_is_read_back(
        kind in 0..4, shape in proptest::collection::vec(0u64..9, 1..5), bound in 1u64.., seed: u64,
    ) {
        let shape = shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        let text = match kind {
            0 => format!("zeros:{shape}"),
            1 => format!("iota:{shape}"),
            2 => format!("rand:{shape}:{seed}"),
            _ => format!("randidx:{shape}:{bound}:{seed}"),
        };
        prop_assert_eq!(text.parse::<Value>().unwrap().to_string(), text);
    }

    #[test]
    fn below_is_below(seed: u64, bound in 1u64..) {
        prop_assert!(SplitMix64::new(seed).below(bound) < bound);
    }
}
