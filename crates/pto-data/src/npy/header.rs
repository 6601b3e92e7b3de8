//! The dictionary at the head of a `.npy` file: a Python literal such as
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, its keys in any order.

use pto_isa::ElementType;

use super::FORM;
use crate::{
    array::{DataType, MAX_RANK},
    error::FormatError,
};

#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) data_type: DataType,
    pub(super) big_endian: bool,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
}

fn malformed(reason: impl Into<String>) -> FormatError {
    FormatError::Header { form: FORM, reason: reason.into() }
}

impl Header {
    pub(super) fn parse(text: &[u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor { rest: text };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        cursor.expect(b'{')?;
        while !cursor.eat(b'}') {
            let key = cursor.string()?;
            cursor.expect(b':')?;
            let repeated = match key.as_str() {
                "descr" => descr.replace(cursor.descr()?).is_some(),
                "fortran_order" => fortran.replace(cursor.boolean()?).is_some(),
                "shape" => shape.replace(cursor.shape()?).is_some(),
                _ => return Err(malformed(format!("unknown key '{key}'"))),
            };
            if repeated {
                return Err(malformed(format!("the key '{key}' occurs twice")));
            }
            if !cursor.eat(b',') {
                cursor.expect(b'}')?;
                break;
            }
        }
        cursor.skip_space();
        if !cursor.rest.is_empty() {
            return Err(malformed(format!("expected the end, found {}", cursor.found())));
        }
        let missing = |key| malformed(format!("the key '{key}' is missing"));
        let (data_type, big_endian) = descr.ok_or_else(|| missing("descr"))?;
        let fortran_order = fortran.ok_or_else(|| missing("fortran_order"))?;
        Ok(Self { data_type, big_endian, fortran_order, shape: shape.ok_or_else(|| missing("shape"))? })
    }
}

/// What is left to read.
struct Cursor<'t> {
    rest: &'t [u8],
}

impl Cursor<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), FormatError> {
        if self.eat(byte) {
            return Ok(());
        }
        Err(malformed(format!("expected `{}`, found {}", char::from(byte), self.found())))
    }

    /// The next few bytes, for a message.
    fn found(&self) -> String {
        match self.rest {
            [] => "the end".to_owned(),
            rest => format!("`{}`", rest[..rest.len().min(16)].escape_ascii()),
        }
    }

    /// Takes the longest run of bytes that `wanted` accepts.
    fn run(&mut self, wanted: impl Fn(u8) -> bool) -> String {
        let end = self.rest.iter().position(|&b| !wanted(b)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        run.escape_ascii().to_string()
    }

    fn string(&mut self) -> Result<String, FormatError> {
        let quote = if self.eat(b'"') { b'"' } else { b'\'' };
        if quote == b'\'' {
            self.expect(quote)?;
        }
        let text = self.run(|b| b != quote);
        self.expect(quote)?;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, FormatError> {
        self.skip_space();
        match self.run(|b| b.is_ascii_alphanumeric()).as_str() {
            "True" => Ok(true),
            "False" => Ok(false),
            other => Err(malformed(format!("expected True or False for 'fortran_order', found `{other}`"))),
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, FormatError> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            self.skip_space();
            let digits = self.run(|b| b.is_ascii_digit());
            let Ok(extent) = digits.parse() else {
                return Err(malformed(format!(
                    "expected an extent from 0 to {} in 'shape', found {}{}",
                    u64::MAX,
                    digits,
                    self.found()
                )));
            };
            shape.push(extent);
            if shape.len() > MAX_RANK {
                return Err(malformed(format!("'shape' has more than {MAX_RANK} extents")));
            }
            // Python 2 wrote its long integers with an `L`.
            self.rest = self.rest.strip_prefix(b"L").unwrap_or(self.rest);
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn descr(&mut self) -> Result<(DataType, bool), FormatError> {
        self.skip_space();
        if self.rest.first() == Some(&b'[') {
            let advice = "save each field as an array of its own (in NumPy: np.save(path, array['field']))";
            return Err(FormatError::Unsupported { found: "a structure".to_owned(), advice });
        }
        let text = self.string()?;
        data_type(&text)
    }
}

/// The type and whether it is big-endian.
fn data_type(descr: &str) -> Result<(DataType, bool), FormatError> {
    use ElementType::{F8E5M2, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let unsupported = |advice| Err(FormatError::Unsupported { found: format!("`{descr}`"), advice });
    let (big_endian, kind) = match descr.split_at_checked(1) {
        Some(("<" | "|" | "=", kind)) => (false, kind),
        Some((">", kind)) => (true, kind),
        _ => return Err(malformed(format!("'descr' is '{descr}', expected one like '<f4'"))),
    };
    let element = match kind {
        "i1" => I8,
        "u1" => U8,
        "i2" => I16,
        "u2" => U16,
        "i4" => I32,
        "u4" => U32,
        "i8" => I64,
        "u8" => U64,
        "f1" => F8E5M2,
        "f2" => F16,
        "f4" => F32,
        "f8" => F64,
        "b1" | "V1" | "V2" | "V4" | "V8" | "S1" | "S2" | "S4" | "S8" => {
            if big_endian {
                // NumPy drops the order of such types, so nobody knows whether to swap.
                return unsupported("save it little-endian or with an integer type of the same width");
            }
            let width = kind.as_bytes()[1] - b'0';
            return Ok((DataType::Opaque { name: descr.to_owned(), width }, false));
        }
        _ => return unsupported("convert it to an integer or float type of 1 to 8 bytes (in NumPy: array.astype)"),
    };
    Ok((DataType::Element(element), big_endian))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        Header::parse(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_in_any_order_and_either_quote() {
        let header = header("{\"shape\": (3L, 4L), 'fortran_order':True,'descr': '>i2'}  \n").unwrap();
        let expected =
            Header { data_type: ElementType::I16.into(), big_endian: true, fortran_order: true, shape: vec![3, 4] };
        assert_eq!(header, expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("", "expected `{`, found the end"),
            ("{'descr': '<f4'}", "the key 'fortran_order' is missing"),
            ("{'descr': '<f4', 'descr': '<f4'}", "occurs twice"),
            ("{'size': 3}", "unknown key 'size'"),
            ("{'shape': (-1, 2)}", "found `-1, 2)}`"),
            ("{'shape': (99999999999999999999,)}", "expected an extent"),
            ("{'shape': (2 3)}", "expected `)`, found `3)}`"),
            ("{'fortran_order': 1}", "expected True or False"),
            ("{'descr': [('a', '<f4')]}", "elements of type a structure"),
            ("{'descr': '|O'}", "elements of type `|O` cannot be used"),
            ("{'descr': '<f16'}", "elements of type `<f16` cannot be used"),
            ("{'descr': '>V2'}", "save it little-endian"),
            ("{'descr': 'float'}", "expected one like '<f4'"),
            ("{'descr': 'é4'}", "expected one like '<f4'"),
            ("{'descr': '<f4", "expected `'`, found the end"),
            ("{'shape': (), 'descr': '<f4', 'fortran_order': False} x", "expected the end, found `x`"),
        ];
        for (text, message) in cases {
            let error = header(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
