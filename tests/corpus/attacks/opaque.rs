//! Rule 8: pickles and archives are refused by name and by content, whatever they are called.

use super::Case;
use super::forge::{CONFIG, Forge, METRICS, TASKS, WEIGHTS, safetensors};

/// The end record of an empty ZIP archive, which some programs open by its end alone.
const ZIP_END: &[u8] = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// A small ZIP archive with one file, as far as a reader looks at it.
fn zip() -> Vec<u8> {
    let entry = b"PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0a";
    let central = b"PK\x01\x02\x0a\0\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0a";
    [&entry[..], central, ZIP_END].concat()
}

/// A file under a name that says nothing.
fn data(f: &mut Forge, bytes: &[u8]) {
    f.put("data/model.dat", bytes);
}

/// The first block of a tar archive; the oldest have no magic.
fn tar(magic: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 1024];
    block[..5].copy_from_slice(b"a.txt");
    block[100..107].copy_from_slice(b"0000644");
    block[257..257 + magic.len()].copy_from_slice(magic);
    block[148..156].fill(b' ');
    let sum: u32 = block[..512].iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

pub const CASES: &[Case] = &[
    // By name.
    ("a checkpoint of torch", "bundle::opaque-format", |f| f.put("data/model.pt", "")),
    ("a checkpoint of torch, shouted", "bundle::opaque-format", |f| f.put("data/model.PT", "")),
    ("a checkpoint of torch with another ending", "bundle::opaque-format", |f| {
        f.put("data/model.pth", "")
    }),
    ("weights in a `.bin`", "bundle::opaque-format", |f| f.put("data/pytorch_model.bin", "")),
    ("a pickle in small and large letters", "bundle::opaque-format", |f| {
        f.put("data/model.PkL", "")
    }),
    ("a pickle in full", "bundle::opaque-format", |f| f.put("data/model.pickle", "")),
    ("a pickle of joblib", "bundle::opaque-format", |f| f.put("data/model.joblib", "")),
    ("a pickle of dill", "bundle::opaque-format", |f| f.put("data/model.dill", "")),
    ("a checkpoint of a trainer", "bundle::opaque-format", |f| f.put("data/last.ckpt", "")),
    ("an array that may hold objects", "bundle::opaque-format", |f| f.put("data/tokens.npy", "")),
    ("an archive of arrays", "bundle::opaque-format", |f| f.put("data/tokens.npz", "")),
    ("an archive", "bundle::opaque-format", |f| f.put("data/logs.zip", "")),
    ("an archive in an archive", "bundle::opaque-format", |f| f.put("data/logs.tar.gz", "")),
    ("compressed weights", "bundle::opaque-format", |f| f.put("data/model.safetensors.zst", "")),
    ("a package of Python", "bundle::opaque-format", |f| {
        f.put("data/repro-1.0-py3-none-any.whl", "")
    }),
    ("a model of Keras", "bundle::opaque-format", |f| f.put("data/model.keras", "")),
    ("a pickle whose name has several endings", "bundle::opaque-format", |f| {
        f.put("data/model.safetensors.pt", "");
    }),
    ("a pickle in the manifest alone", "bundle::opaque-format", |f| {
        f.manifest = |_, t| t.replace("data/config.json", "data/config.pkl");
    }),
    ("an external pickle", "bundle::opaque-format", |f| {
        f.statement = |s| {
            let digest = "0".repeat(64);
            let file =
                serde_json::json!({"name": "w.pt", "bytes": 1, "external": true, "sha256": digest});
            s["predicate"]["files"].as_array_mut().unwrap().push(file);
        };
    }),
    // Pickles by content.
    ("a pickle of protocol 4", "bundle::opaque-format", |f| {
        data(f, b"\x80\x04\x95\x0b\0\0\0\0\0\0\0.")
    }),
    ("a pickle of protocol 5", "bundle::opaque-format", |f| data(f, b"\x80\x05N.")),
    ("a pickle of protocol 2", "bundle::opaque-format", |f| data(f, b"\x80\x02}q\0.")),
    ("an old checkpoint of torch", "bundle::opaque-format", |f| {
        data(f, b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.");
    }),
    ("a pickle of protocol 0 that calls a program", "bundle::opaque-format", |f| {
        data(f, b"cos\nsystem\n(S'true'\ntR.");
    }),
    ("the same with its memory", "bundle::opaque-format", |f| {
        data(f, b"cposix\nsystem\np0\n(S'true'\np1\ntp2\nRp3\n.");
    }),
    ("the same as an instance", "bundle::opaque-format", |f| data(f, b"(S'true'\nios\nsystem\n.")),
    ("a list of protocol 0", "bundle::opaque-format", |f| data(f, b"(lp0\nI1\naI2\na.")),
    ("a dictionary of protocol 0", "bundle::opaque-format", |f| data(f, b"(dp0\nS'a'\np1\nI1\ns.")),
    ("a list of protocol 1", "bundle::opaque-format", |f| data(f, b"]q\0(K\x01K\x02e.")),
    ("a dictionary of protocol 1", "bundle::opaque-format", |f| data(f, b"}q\0U\x01aK\x01s.")),
    ("a long pickle of protocol 0", "bundle::opaque-format", |f| {
        data(f, &[&b"(lp0\n"[..], &b"F0.5\na".repeat(100_000), b"."].concat());
    }),
    ("a pickle before a text", "bundle::opaque-format", |f| {
        f.put("data/notes.txt", "cbuiltins\neval\n(S'1'\ntR.\n\nNotes on the run.\n");
    }),
    ("a pickle that is called weights", "bundle::opaque-format", |f| {
        f.put(WEIGHTS, *b"\x80\x02}q\x00X\x01\0\0\0a.");
    }),
    ("a pickle of protocol 0 that is called weights", "bundle::opaque-format", |f| {
        f.put(WEIGHTS, *b"cos\nsystem\n(S'true'\ntR.");
    }),
    ("a pickle that is called a table", "bundle::opaque-format", |f| {
        f.put(TASKS, "cos\nsystem\n(S'true'\ntR.\n");
    }),
    ("a pickle that is called JSON", "bundle::opaque-format", |f| f.put(CONFIG, *b"\x80\x04N.")),
    ("a pickle that is called the log", "bundle::opaque-format", |f| {
        f.put(METRICS, *b"\x80\x04N.")
    }),
    // Archives by content.
    ("a ZIP", "bundle::opaque-format", |f| data(f, &zip())),
    ("an empty ZIP", "bundle::opaque-format", |f| data(f, ZIP_END)),
    ("a part of a ZIP", "bundle::opaque-format", |f| data(f, b"PK\x07\x08PK\x03\x04")),
    ("a ZIP that is called weights", "bundle::opaque-format", |f| f.put(WEIGHTS, zip())),
    ("a ZIP that is called JSON", "bundle::opaque-format", |f| f.put(CONFIG, zip())),
    ("a gzip", "bundle::opaque-format", |f| data(f, b"\x1f\x8b\x08\0\0\0\0\0\0\x03")),
    ("a gzip that is called JSON", "bundle::opaque-format", |f| {
        f.put(CONFIG, *b"\x1f\x8b\x08\0\0\0\0\0\0\x03")
    }),
    ("a gzip that is called JSON lines", "bundle::opaque-format", |f| {
        f.put("data/timing.jsonl", *b"\x1f\x8b\x08\0\0\0\0\0");
    }),
    ("a gzip that is called TOML", "bundle::opaque-format", |f| {
        f.put("data/a.toml", *b"\x1f\x8b\x08\0\0\0\0\0")
    }),
    ("a tar", "bundle::opaque-format", |f| data(f, &tar(b"ustar\x0000"))),
    ("a tar of GNU", "bundle::opaque-format", |f| data(f, &tar(b"ustar  \0"))),
    ("a tar without magic", "bundle::opaque-format", |f| data(f, &tar(b""))),
    ("a tar that is called a text", "bundle::opaque-format", |f| {
        f.put("data/notes.txt", tar(b"ustar\x0000"))
    }),
    ("a 7z", "bundle::opaque-format", |f| data(f, b"7z\xbc\xaf\x27\x1c\0\x04")),
    ("a RAR", "bundle::opaque-format", |f| data(f, b"Rar!\x1a\x07\x01\0")),
    ("an XZ", "bundle::opaque-format", |f| data(f, b"\xfd7zXZ\0\0\x04")),
    ("a bzip2", "bundle::opaque-format", |f| data(f, b"BZh91AY&SY\0\0")),
    ("an empty bzip2", "bundle::opaque-format", |f| data(f, b"BZh9\x17rE8P\x90\0\0\0\0")),
    ("a Zstandard", "bundle::opaque-format", |f| data(f, b"\x28\xb5\x2f\xfd\x04\0")),
    ("an LZ4", "bundle::opaque-format", |f| data(f, b"\x04\x22\x4d\x18\x64\x40")),
    ("an LZMA", "bundle::opaque-format", |f| data(f, b"\x5d\0\0\x80\0\xff\xff")),
    ("an lzip", "bundle::opaque-format", |f| data(f, b"LZIP\x01\x0c")),
    ("a compress", "bundle::opaque-format", |f| data(f, b"\x1f\x9d\x90")),
    ("an ar", "bundle::opaque-format", |f| data(f, b"!<arch>\ndebian-binary   ")),
    ("a cpio", "bundle::opaque-format", |f| data(f, b"070701000000000000")),
    ("a cabinet", "bundle::opaque-format", |f| data(f, b"MSCF\0\0\0\0")),
    ("a NumPy array", "bundle::opaque-format", |f| data(f, b"\x93NUMPY\x01\0v\0{'descr': '|O'")),
    ("an HDF5 file", "bundle::opaque-format", |f| data(f, b"\x89HDF\r\n\x1a\n\0")),
    // Two things at once.
    ("a ZIP behind a text", "bundle::opaque-format", |f| {
        f.put("data/notes.txt", [&b"Notes on the run.\n"[..], &zip()].concat());
    }),
    ("a ZIP with a comment behind a text", "bundle::opaque-format", |f| {
        let mut file = [&b"Notes on the run.\n"[..], &zip()].concat();
        let length = file.len();
        file[length - 2] = 5;
        file.extend_from_slice(b"hello");
        f.put("data/notes.txt", file);
    }),
    ("a ZIP behind an image", "bundle::opaque-format", |f| {
        let image = [&b"\x89PNG\r\n\x1a\n"[..], &[7; 200_000]].concat();
        f.put("data/loss.png", [image, zip()].concat());
    }),
    ("a ZIP inside the numbers of a checkpoint", "bundle::opaque-format", |f| {
        let archive = zip();
        let length = archive.len();
        let text =
            format!(r#"{{"w":{{"dtype":"U8","shape":[{length}],"data_offsets":[0,{length}]}}}}"#);
        f.put(WEIGHTS, safetensors(&text, &archive));
    }),
    ("a ZIP behind a JSON document", "source::syntax", |f| {
        f.put(CONFIG, [&b"{}\n"[..], &zip()].concat());
    }),
    ("a pickle whose first bytes are the length of a header", "bundle::opaque-format", |f| {
        f.put(WEIGHTS, *b"\x80\x02\0\0\0\0\0\0}q\0.");
    }),
];
