//! Rule 7: checkpoints. The header is read from the hashed bytes, and every number in the file is finite.

use serde_json::json;

use super::Case;
use super::forge::{Forge, WEIGHTS, safetensors, weights};

/// A checkpoint with this header before sixteen bytes of zeros.
fn header(f: &mut Forge, text: &str) {
    f.put(WEIGHTS, safetensors(text, &[0; 16]));
}

/// A checkpoint of one tensor `w` of this type, with these bytes.
fn tensor(f: &mut Forge, dtype: &str, elements: usize, data: &[u8]) {
    let entry = json!({"dtype": dtype, "shape": [elements], "data_offsets": [0, data.len()]});
    f.put(WEIGHTS, safetensors(&json!({ "w": entry }).to_string(), data));
}

const ONE: &str = r#""dtype":"F32","shape":[4],"data_offsets":[0,16]"#;

pub const CASES: &[Case] = &[
    // The length of the header.
    ("a header beyond the file", "bundle::bad-weights", |f| f.put(WEIGHTS, [0xff; 64])),
    ("a header one byte beyond the file", "bundle::bad-weights", |f| {
        let mut file = weights([0.0; 4]);
        file[0] += 17;
        f.put(WEIGHTS, file);
    }),
    ("a header of 2^63 bytes", "bundle::bad-weights", |f| {
        f.put(WEIGHTS, [&(1_u64 << 63).to_le_bytes()[..], b"{}"].concat());
    }),
    ("a header beyond the cap in a file that has it", "bundle::bad-weights", |f| {
        f.put(WEIGHTS, safetensors(&format!("{{}}{}", " ".repeat(16 << 20)), b""));
    }),
    ("a header of no bytes", "checkpoint::bad-tensor", |f| f.put(WEIGHTS, safetensors("", b""))),
    ("a header that is cut short by its length", "source::syntax", |f| {
        let mut file = weights([0.0; 4]);
        file[0] -= 1;
        f.put(WEIGHTS, file);
    }),
    ("a length in the other order of bytes", "bundle::bad-weights", |f| {
        let mut file = weights([0.0; 4]);
        file[..8].reverse();
        f.put(WEIGHTS, file);
    }),
    ("an empty file", "bundle::bad-weights", |f| f.put(WEIGHTS, "")),
    ("seven bytes", "bundle::bad-weights", |f| f.put(WEIGHTS, [0; 7])),
    ("a length and nothing else", "checkpoint::bad-tensor", |f| f.put(WEIGHTS, [0; 8])),
    // The text of the header.
    ("a header that is a list", "checkpoint::bad-tensor", |f| header(f, "[]")),
    ("a space before the header", "checkpoint::bad-tensor", |f| {
        header(f, &format!(" {{\"w\":{{{ONE}}}}}"))
    }),
    ("a byte order mark before the header", "checkpoint::bad-tensor", |f| {
        header(f, &format!("\u{feff}{{\"w\":{{{ONE}}}}}"));
    }),
    ("a second header behind the first", "source::syntax", |f| {
        header(f, &format!("{{\"w\":{{{ONE}}}}}{{\"w\":{{{ONE}}}}}"));
    }),
    ("bytes that are no UTF-8 in the header", "source::not-utf8", |f| {
        let mut file = weights([0.0; 4]);
        file[10] = 0xff;
        f.put(WEIGHTS, file);
    }),
    ("a NUL behind the header", "source::syntax", |f| header(f, &format!("{{\"w\":{{{ONE}}}}}\0"))),
    ("a deep header", "source::too-deep", |f| {
        header(f, &format!("{{\"w\":{}{}}}", "[".repeat(70), "]".repeat(70)));
    }),
    ("a header of a hundred thousand tensors", "source::too-many-values", |f| {
        let one = |at: usize| {
            format!(
                "\"{at}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}",
                at + 1
            )
        };
        let all: Vec<_> = (0..100_000).map(one).collect();
        f.put(WEIGHTS, safetensors(&format!("{{{}}}", all.join(",")), &[0; 100_000]));
    }),
    ("a header of sixteen megabytes of lists", "source::too-deep", |f| {
        f.put(WEIGHTS, safetensors(&format!("{{\"w\":{}", "[".repeat((16 << 20) - 5)), b""));
    }),
    // Names.
    ("a tensor twice", "source::duplicate-key", |f| {
        header(f, &format!("{{\"w\":{{{ONE}}},\"w\":{{{ONE}}}}}"));
    }),
    ("a tensor twice, once escaped", "source::duplicate-key", |f| {
        header(f, &format!("{{\"w\":{{{ONE}}},\"\\u0077\":{{{ONE}}}}}"));
    }),
    ("metadata twice", "source::duplicate-key", |f| {
        header(f, &format!("{{\"__metadata__\":{{}},\"w\":{{{ONE}}},\"__metadata__\":{{}}}}"));
    }),
    ("a key of the metadata twice", "source::duplicate-key", |f| {
        header(f, &format!("{{\"__metadata__\":{{\"a\":\"1\",\"a\":\"2\"}},\"w\":{{{ONE}}}}}"));
    }),
    ("metadata that is no text", "source::wrong-type", |f| {
        header(f, &format!("{{\"__metadata__\":{{\"step\":1}},\"w\":{{{ONE}}}}}"));
    }),
    ("metadata that is a list", "source::wrong-type", |f| {
        header(f, &format!("{{\"__metadata__\":[],\"w\":{{{ONE}}}}}"));
    }),
    ("a tensor without a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\"\":{{{ONE}}}}}"))
    }),
    ("a control character in a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\"w\\u001b[2J\":{{{ONE}}}}}"));
    }),
    ("a NUL in a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\"w\\u0000\":{{{ONE}}}}}"))
    }),
    ("a line feed in a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\"w\\n\":{{{ONE}}}}}"))
    }),
    ("a space before a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\" w\":{{{ONE}}}}}"))
    }),
    ("a space after a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\"w \":{{{ONE}}}}}"))
    }),
    ("a mark that turns the direction of a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\"w\u{202e}x\":{{{ONE}}}}}"));
    }),
    ("a character without width in a name", "checkpoint::bad-tensor", |f| {
        header(f, &format!("{{\"w\u{200b}\":{{{ONE}}}}}"));
    }),
    // Fields.
    ("no tensors", "checkpoint::bad-tensor", |f| f.put(WEIGHTS, safetensors("{}", b""))),
    ("metadata and no tensors", "checkpoint::bad-tensor", |f| {
        f.put(WEIGHTS, safetensors("{\"__metadata__\":{\"a\":\"b\"}}", b""));
    }),
    ("an unknown field", "source::unknown-field", |f| {
        header(f, &format!("{{\"w\":{{{ONE},\"x\":1}}}}"))
    }),
    ("a field twice", "source::duplicate-key", |f| {
        header(f, &format!("{{\"w\":{{{ONE},\"data_offsets\":[0,8]}}}}"));
    }),
    ("a tensor without a type", "source::missing-field", |f| {
        header(f, r#"{"w":{"shape":[4],"data_offsets":[0,16]}}"#);
    }),
    ("a tensor without a shape", "source::missing-field", |f| {
        header(f, r#"{"w":{"dtype":"F32","data_offsets":[0,16]}}"#);
    }),
    ("a tensor without offsets", "source::missing-field", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4]}}"#);
    }),
    ("a tensor that is a list", "source::wrong-type", |f| header(f, r#"{"w":["F32",[4],[0,16]]}"#)),
    ("an unknown type", "checkpoint::bad-tensor", |f| {
        header(f, r#"{"w":{"dtype":"F128","shape":[1],"data_offsets":[0,16]}}"#);
    }),
    ("a type in small letters", "checkpoint::bad-tensor", |f| {
        header(f, r#"{"w":{"dtype":"f32","shape":[4],"data_offsets":[0,16]}}"#);
    }),
    ("a type that is a number", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":32,"shape":[4],"data_offsets":[0,16]}}"#);
    }),
    // Shapes.
    ("a shape whose product overflows", "checkpoint::bad-tensor", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16]}}"#);
    }),
    ("a shape that is whole again after an overflow", "checkpoint::bad-tensor", |f| {
        header(
            f,
            r#"{"w":{"dtype":"U8","shape":[4503599627370496,4096,16],"data_offsets":[0,16]}}"#,
        );
    }),
    ("a shape whose bits overflow", "checkpoint::bad-tensor", |f| {
        header(
            f,
            r#"{"w":{"dtype":"F64","shape":[1073741824,1073741824,4],"data_offsets":[0,16]}}"#,
        );
    }),
    ("a shape beyond 2^53", "source::inexact-integer", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,16]}}"#);
    }),
    ("a negative shape", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}}"#);
    }),
    ("a shape with a fraction", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4.0],"data_offsets":[0,16]}}"#);
    }),
    ("a shape with an exponent", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4e0],"data_offsets":[0,16]}}"#);
    }),
    ("a shape that is text", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":["4"],"data_offsets":[0,16]}}"#);
    }),
    ("a shape of another product than its bytes", "checkpoint::bad-tensor", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,16]}}"#);
    }),
    ("a tensor of no elements", "checkpoint::bad-tensor", |f| {
        header(
            f,
            &format!(
                "{{\"a\":{{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}},\"w\":{{{ONE}}}}}"
            ),
        );
    }),
    ("an empty name for the bytes of another tensor", "checkpoint::bad-tensor", |f| {
        header(
            f,
            &format!(
                "{{\"w\":{{{ONE}}},\"z\":{{\"dtype\":\"F32\",\"shape\":[4,0],\"data_offsets\":[8,8]}}}}"
            ),
        );
    }),
    ("a type narrower than a byte that ends inside one", "checkpoint::bad-tensor", |f| {
        f.put(
            WEIGHTS,
            safetensors(r#"{"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}"#, &[0; 2]),
        );
    }),
    // Offsets.
    ("reversed offsets", "checkpoint::bad-tensor", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}}"#);
    }),
    ("negative offsets", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[-16,0]}}"#);
    }),
    ("one offset", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[16]}}"#);
    }),
    ("three offsets", "source::wrong-type", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16,16]}}"#);
    }),
    ("offsets beyond 2^53", "source::inexact-integer", |f| {
        header(
            f,
            r#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[18446744073709551600,18446744073709551616]}}"#,
        );
    }),
    ("offsets beyond the file", "checkpoint::wrong-length", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[5],"data_offsets":[0,20]}}"#);
    }),
    ("a hole before the first tensor", "checkpoint::noncontiguous-tensors", |f| {
        header(f, r#"{"w":{"dtype":"F32","shape":[3],"data_offsets":[4,16]}}"#);
    }),
    ("a hole between tensors", "checkpoint::noncontiguous-tensors", |f| {
        header(
            f,
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}"#,
        );
    }),
    ("tensors that overlap", "checkpoint::noncontiguous-tensors", |f| {
        header(
            f,
            r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}"#,
        );
    }),
    ("two names for the same bytes", "checkpoint::noncontiguous-tensors", |f| {
        header(f, &format!("{{\"a\":{{{ONE}}},\"w\":{{{ONE}}}}}"));
    }),
    ("a tensor inside another", "checkpoint::noncontiguous-tensors", |f| {
        header(
            f,
            &format!(
                "{{\"a\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}},\"w\":{{{ONE}}}}}"
            ),
        );
    }),
    ("a trailing byte", "checkpoint::wrong-length", |f| {
        f.put(WEIGHTS, [&weights([0.0; 4])[..], b"x"].concat())
    }),
    ("a second checkpoint behind the first", "checkpoint::wrong-length", |f| {
        f.put(WEIGHTS, [weights([0.0; 4]), weights([0.0; 4])].concat());
    }),
    ("a missing byte", "checkpoint::wrong-length", |f| f.put(WEIGHTS, &weights([0.0; 4])[..70])),
    ("no data at all", "checkpoint::wrong-length", |f| {
        f.put(WEIGHTS, safetensors(&format!("{{\"w\":{{{ONE}}}}}"), b""));
    }),
    // Numbers.
    ("a NaN", "bundle::non-finite-weight", |f| f.put(WEIGHTS, weights([1.0, f32::NAN, 0.0, 0.0]))),
    ("a NaN that signals, with a sign and a payload", "bundle::non-finite-weight", |f| {
        f.put(WEIGHTS, weights([1.0, 0.0, f32::from_bits(0xff80_0001), 0.0]));
    }),
    ("an infinity at the end", "bundle::non-finite-weight", |f| {
        f.put(WEIGHTS, weights([1.0, 0.0, 0.0, f32::NEG_INFINITY]));
    }),
    ("a NaN in F64", "bundle::non-finite-weight", |f| tensor(f, "F64", 1, &f64::NAN.to_le_bytes())),
    ("an infinity in F64", "bundle::non-finite-weight", |f| {
        tensor(f, "F64", 1, &f64::INFINITY.to_le_bytes())
    }),
    ("a NaN in F16", "bundle::non-finite-weight", |f| tensor(f, "F16", 2, &[0, 0, 0x01, 0x7c])),
    ("an infinity in F16", "bundle::non-finite-weight", |f| tensor(f, "F16", 2, &[0, 0, 0, 0xfc])),
    ("a NaN in BF16", "bundle::non-finite-weight", |f| tensor(f, "BF16", 2, &[0xc0, 0x7f, 0, 0])),
    ("an infinity in BF16", "bundle::non-finite-weight", |f| {
        tensor(f, "BF16", 2, &[0, 0, 0x80, 0xff])
    }),
    ("a NaN in F8 (E5M2)", "bundle::non-finite-weight", |f| tensor(f, "F8_E5M2", 3, &[0, 0x7d, 0])),
    ("an infinity in F8 (E5M2)", "bundle::non-finite-weight", |f| {
        tensor(f, "F8_E5M2", 3, &[0, 0, 0xfc])
    }),
    ("a NaN in F8 (E4M3)", "bundle::non-finite-weight", |f| tensor(f, "F8_E4M3", 3, &[0xff, 0, 0])),
    ("a NaN in F8 (E8M0)", "bundle::non-finite-weight", |f| tensor(f, "F8_E8M0", 3, &[0, 0xff, 0])),
    ("a NaN in the imaginary part of C64", "bundle::non-finite-weight", |f| {
        tensor(f, "C64", 1, &[&1.0_f32.to_le_bytes()[..], &f32::NAN.to_le_bytes()].concat());
    }),
    ("a NaN in the state of the optimizer", "bundle::non-finite-weight", |f| {
        let text = r#"{"optimizer.m.w":{"dtype":"F32","shape":[1],"data_offsets":[16,20]},"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
        f.put(WEIGHTS, safetensors(text, &[&[0; 16][..], &f32::NAN.to_le_bytes()].concat()));
    }),
    ("a NaN in a tensor without dimensions", "bundle::non-finite-weight", |f| {
        let text = r#"{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}"#;
        f.put(WEIGHTS, safetensors(text, &f32::NAN.to_le_bytes()));
    }),
    ("a NaN across the pieces in which the file is read", "bundle::non-finite-weight", |f| {
        let mut data = vec![0; 1 << 20];
        for at in (0..data.len()).step_by(128 << 10).skip(1) {
            // The header is 63 bytes or so with its length: a few elements around each border.
            data[at - 80..at].copy_from_slice(&[0xff; 80]);
        }
        tensor(f, "F32", data.len() / 4, &data);
    }),
    ("a NaN in weights that no checkpoint names", "bundle::non-finite-weight", |f| {
        f.put("data/extra.safetensors", weights([f32::NAN; 4]));
    }),
    ("weights under another ending, which nobody would read", "bundle::bad-weights", |f| {
        f.put("data/checkpoints/w.dat", weights([f32::NAN; 4]));
        f.predicate["checkpoints"][0]["weights"] = json!("data/checkpoints/w.dat");
    }),
    ("a slice under another ending", "bundle::bad-weights", |f| {
        f.put("data/slice.dat", weights([f32::NAN; 4]));
        f.predicate["slices"] = json!([{"from_step": 0, "steps": 1, "file": "data/slice.dat"}]);
    }),
];
