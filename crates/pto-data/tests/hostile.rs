//! Files that lie: every one is refused with a message, none makes the reader panic or allocate what it claims.

#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::{io::Cursor, path::Path};

use proptest::prelude::*;
use pto_data::{Array, FormatError, Value, npy, safetensors};
use pto_isa::ElementType;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn read_npy(bytes: &[u8]) -> Result<Array, FormatError> {
    npy::read_from(&mut Cursor::new(bytes), bytes.len() as u64)
}

fn read_safetensors(bytes: &[u8], key: &str) -> Result<Array, FormatError> {
    safetensors::read_from(&mut Cursor::new(bytes), bytes.len() as u64, key)
}

fn npy_file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), data].concat()
}

fn safetensors_file(header: &str, data: &[u8]) -> Vec<u8> {
    [(header.len() as u64).to_le_bytes().as_slice(), header.as_bytes(), data].concat()
}

#[test]
fn every_truncation_and_every_appendix_is_refused() {
    let npy = fixture("f32.npy");
    let tensors = fixture("all.safetensors");
    for len in 0..npy.len() {
        assert!(read_npy(&npy[..len]).is_err(), "{len}");
    }
    for len in 0..tensors.len() {
        assert!(read_safetensors(&tensors[..len], "f32").is_err(), "{len}");
    }
    assert!(matches!(read_npy(&[npy, vec![0]].concat()), Err(FormatError::Length { expected: 24, found: 25 })));
    assert!(matches!(read_safetensors(&[tensors, vec![0]].concat(), "f32"), Err(FormatError::Length { .. })));
}

#[test]
fn npy_headers_that_lie() {
    let with = |descr: &str, fortran: &str, shape: &str| {
        npy_file(&format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}}}\n"), &[0; 8])
    };
    assert_eq!(read_npy(&with("<f4", "False", "(2,)")).unwrap().elements(), 2);
    for (file, message) in [
        (with("<f4", "False", "(3,)"), "promises 12 bytes of data, the file has 8"),
        (with("<f4", "False", "(1,)"), "promises 4 bytes of data, the file has 8"),
        (with("<f4", "False", "(1000000000,)"), "promises 4000000000 bytes"),
        (with("<f4", "False", "(18446744073709551615, 18446744073709551615)"), "beyond the limit of 16 GiB"),
        (with("<f8", "False", "(4611686018427387904,)"), "beyond the limit of 16 GiB"),
        (with("<f4", "False", "(-2,)"), "found `-2,)"),
        (with("<f4", "False", "2"), "expected `(`"),
        (with("<f4", "False", &format!("({})", "1,".repeat(65))), "more than 64 extents"),
        (with("<f4", "False", &"(".repeat(60_000)), "expected an extent"),
        // Empty arrays whose other extents cannot be multiplied.
        (with("<f4", "True", "(0, 18446744073709551615, 18446744073709551615)"), "promises 0 bytes"),
        (npy_file("", &[]), "expected `{`"),
        (b"\x93NUMPY\x04\x00\x00\x00\x00\x00".to_vec(), "found 4.0"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(), "its length is 4294967295"),
        (b"\x93NUMPY\x02\x00\x01".to_vec(), "found 9"),
        (b"\x93NUMPY\x02\x00\x01\x00".to_vec(), "promises 4 bytes"),
        (b"PK\x03\x04 an archive".to_vec(), "does not begin with"),
    ] {
        let error = read_npy(&file).unwrap_err().to_string();
        assert!(error.contains(message), "{error} should contain {message}");
    }
    let empty = "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 18446744073709551615, 18446744073709551615)}";
    assert_eq!(read_npy(&npy_file(empty, &[])).unwrap().elements(), 0);
}

#[test]
fn safetensors_headers_that_lie() {
    let with = |dtype: &str, shape: &str, offsets: &str| {
        let header = format!(r#"{{"x":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#);
        safetensors_file(&header, &[0; 8])
    };
    assert_eq!(read_safetensors(&with("F32", "[2]", "[0,8]"), "x").unwrap().elements(), 2);
    // Eight tensors whose sizes add up to almost 2^64.
    let size = (1u64 << 61) - 1;
    let huge = (0..8).map(|i| {
        format!(r#""{i}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{},{}]}}"#, i * size, (i + 1) * size)
    });
    let huge = format!("{{{}}}", huge.collect::<Vec<_>>().join(","));
    for (file, message) in [
        (with("F32", "[3]", "[0,8]"), "malformed"),
        (with("F32", "[3]", "[0,12]"), "promises 12 bytes of data, the file has 8"),
        (with("F32", "[2]", "[8,0]"), "malformed"),
        (with("F32", "[2]", "[4,12]"), "malformed"),
        (with("F32", "[-2]", "[0,8]"), "malformed"),
        (with("F32", "[18446744073709551615,2]", "[0,8]"), "malformed"),
        (with("F99", "[2]", "[0,8]"), "malformed"),
        (with("F4", "[16]", "[0,8]"), "elements of type F4 cannot be used"),
        (safetensors_file(&huge, &[]), "promises 18446744073709551608 bytes"),
        (safetensors_file(&"[".repeat(100_000), &[]), "malformed"),
        (safetensors_file("{}", &[]), "no tensor `x`: the file holds none"),
        (u64::MAX.to_le_bytes().to_vec(), "expected at most 0"),
        (vec![0; 8], "malformed"),
        (vec![], "found 0"),
    ] {
        let error = read_safetensors(&file, "x").unwrap_err().to_string();
        assert!(error.contains(message), "{error} should contain {message}");
    }
}

#[test]
fn paths_that_are_no_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("directory.npy");
    std::fs::create_dir(&path).unwrap();
    let load = |value: Value| value.load_array(ElementType::F32).unwrap_err().to_string();
    assert!(load(Value::Npy(path)).contains("expected a regular file"));
    let missing = load(Value::Raw(directory.path().join("missing.bin")));
    assert!(missing.contains("cannot read") && missing.contains("missing.bin"), "{missing}");
    let odd = directory.path().join("odd.bin");
    std::fs::write(&odd, [0; 7]).unwrap();
    assert!(load(Value::Raw(odd)).contains("7 bytes are no whole number of f32 elements of 4 bytes"));
    #[cfg(target_os = "linux")]
    {
        // Larger than any array may be, and than this machine's memory: refused by its length alone.
        let sparse = directory.path().join("sparse.bin");
        std::fs::File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
        assert!(load(Value::Raw(sparse)).contains("beyond the limit of 16 GiB"));
        let device = directory.path().join("device.bin");
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        assert!(load(Value::Raw(device)).contains("expected a regular file"));
    }
}

/// A reader that promises more than it holds, as a file that shrinks while it is read.
#[test]
fn files_that_shrink() {
    let bytes = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", &[0; 8]);
    let short = &bytes[..bytes.len() - 3];
    assert!(matches!(npy::read_from(&mut Cursor::new(short), bytes.len() as u64), Err(FormatError::Length { .. })));
}

/// Mutations of a good file: bytes replaced, and pieces cut out or doubled.
fn mutated(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let len = good.len();
    let edits = proptest::collection::vec((0..len, any::<u8>(), 0..4, 0..24usize), 1..8);
    edits.prop_map(move |edits| {
        let mut bytes = good.clone();
        for (at, byte, kind, length) in edits {
            let at = at.min(bytes.len().saturating_sub(1));
            let end = (at + length).min(bytes.len());
            match kind {
                0 => bytes[at..end].fill(byte),
                1 => drop(bytes.drain(at..end)),
                2 => drop(bytes.splice(at..at, b"0123456789,(-]}'"[byte as usize % 16..].iter().copied())),
                _ => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
            }
        }
        bytes
    })
}

fn consistent(array: &Array) -> bool {
    array.elements() * array.data_type().width() == array.bytes().len() as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_npy_never_panics(bytes in mutated(fixture("fortran.npy"))) {
        prop_assert!(read_npy(&bytes).map_or(true, |array| consistent(&array)));
    }

    #[test]
    fn mutated_safetensors_never_panics(bytes in mutated(fixture("all.safetensors"))) {
        prop_assert!(read_safetensors(&bytes, "f32").map_or(true, |array| consistent(&array)));
    }

    #[test]
    fn any_npy_header_never_panics(header in "\\PC{0,80}", data in proptest::collection::vec(any::<u8>(), 0..32)) {
        let _ = read_npy(&npy_file(&header, &data));
    }

    #[test]
    fn any_shape_and_type_are_held_against_the_length(
        descr in "[<>|=][iufVSbc][0-9]{1,2}",
        fortran: bool,
        shape in proptest::collection::vec(prop_oneof![0u64..4, any::<u64>()], 0..5),
        data in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let fortran = if fortran { "True" } else { "False" };
        let extents: String = shape.iter().map(|e| format!("{e},")).collect();
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({extents})}}");
        if let Ok(array) = read_npy(&npy_file(&header, &data)) {
            prop_assert_eq!(array.shape(), shape);
            prop_assert_eq!(array.bytes().len(), data.len());
        }
    }
}
