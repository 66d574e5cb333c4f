//! Rule 5: the files on disk are those of the manifest, plain files with one name, of the size that was
//! declared.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use repro_core::digest::Digest;
use serde_json::json;

use super::Case;
use super::forge::{
    CONFIG, METRICS, RECEIPT, TASKS, WEIGHTS, device_for, fifo, fifo_for, sparse, weights,
};

pub const CASES: &[Case] = &[
    // Files that nobody lists.
    ("an extra file", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("data/extra.txt"), "").unwrap();
    }),
    ("an extra file at the top", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("README"), "").unwrap();
    }),
    ("an extra folder at the top", "bundle::extra-file", |f| {
        f.disk = |p| {
            fs::create_dir(p.join("meta")).unwrap();
            fs::write(p.join("meta/x.txt"), "").unwrap();
        };
    }),
    ("a manifest of another algorithm", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("manifest-sha512.txt"), "").unwrap();
    }),
    ("a tag manifest of another algorithm", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("tagmanifest-md5.txt"), "").unwrap();
    }),
    ("a list of files to fetch", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("fetch.txt"), "http://example.org/x 1 data/x.txt\n").unwrap();
    }),
    ("a second signature", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("model.sig"), "{}").unwrap();
    }),
    ("the state of a run that goes on", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("state.json"), "{}\n").unwrap();
    }),
    ("a signature inside the payload that nobody lists", "bundle::extra-file", |f| {
        f.disk = |p| fs::write(p.join("data/receipt.sig"), "{}").unwrap();
    }),
    ("a payload file in capitals in place of its own", "bundle::extra-file", |f| {
        f.disk = |p| fs::rename(p.join(CONFIG), p.join("data/CONFIG.json")).unwrap();
    }),
    ("the declaration in capitals alone", "bundle::unfinished", |f| {
        f.disk = |p| fs::rename(p.join("bagit.txt"), p.join("BAGIT.TXT")).unwrap();
    }),
    // Hidden files and empty folders.
    ("a hidden file", "bundle::hidden-file", |f| {
        f.disk = |p| fs::write(p.join("data/.hidden"), "").unwrap();
    }),
    ("a hidden file at the top", "bundle::hidden-file", |f| {
        f.disk = |p| fs::write(p.join(".gitignore"), "").unwrap();
    }),
    ("a hidden folder", "bundle::hidden-file", |f| {
        f.disk = |p| fs::create_dir(p.join(".git")).unwrap()
    }),
    ("a hidden folder with files", "bundle::hidden-file", |f| {
        f.disk = |p| {
            fs::create_dir(p.join(".github")).unwrap();
            fs::write(p.join(".github/x.yml"), "").unwrap();
        };
    }),
    ("a hidden file that the manifest lists", "bundle::hidden-file", |f| f.put("data/.x", "")),
    ("a folder in a cache that is hidden deep below", "bundle::hidden-file", |f| {
        f.put("data/a/b/.cache/x.txt", "");
    }),
    ("an empty folder", "bundle::empty-folder", |f| {
        f.disk = |p| fs::create_dir(p.join("data/empty")).unwrap();
    }),
    ("an empty folder at the top", "bundle::empty-folder", |f| {
        f.disk = |p| fs::create_dir(p.join("meta")).unwrap();
    }),
    ("empty folders in one another", "bundle::empty-folder", |f| {
        f.disk = |p| fs::create_dir_all(p.join("data/a/b/c/d")).unwrap();
    }),
    ("an empty folder in the place of a file", "bundle::empty-folder", |f| {
        f.disk = |p| {
            fs::remove_file(p.join(CONFIG)).unwrap();
            fs::create_dir(p.join(CONFIG)).unwrap();
        };
    }),
    ("a folder for the declaration", "bundle::missing-file", |f| {
        f.disk = |p| {
            fs::remove_file(p.join("bagit.txt")).unwrap();
            fs::create_dir(p.join("bagit.txt")).unwrap();
            fs::write(p.join("bagit.txt/x"), "").unwrap();
        };
    }),
    ("a folder for a payload file", "bundle::extra-file", |f| {
        f.disk = |p| {
            fs::remove_file(p.join(CONFIG)).unwrap();
            fs::create_dir(p.join(CONFIG)).unwrap();
            fs::write(p.join(CONFIG).join("x"), "").unwrap();
        };
    }),
    // Files that are not there.
    ("a missing file", "bundle::missing-file", |f| {
        f.disk = |p| fs::remove_file(p.join(CONFIG)).unwrap()
    }),
    ("a missing receipt", "bundle::missing-file", |f| {
        f.disk = |p| fs::remove_file(p.join(RECEIPT)).unwrap();
    }),
    ("a missing payload", "bundle::missing-file", |f| {
        f.disk = |p| fs::remove_dir_all(p.join("data")).unwrap();
    }),
    ("a payload without a declaration", "bundle::unfinished", |f| {
        f.disk = |p| fs::remove_file(p.join("bagit.txt")).unwrap();
    }),
    ("an empty bundle", "bundle::not-a-bag", |f| {
        f.disk = |p| {
            fs::remove_dir_all(p).unwrap();
            fs::create_dir(p).unwrap();
        };
    }),
    ("no bundle", "bundle::not-found", |f| f.disk = |p| fs::remove_dir_all(p).unwrap()),
    ("a manifest of files outside `data/`", "bundle::extra-file", |f| {
        f.manifest = |n, t| {
            let line = format!("{}  bag-info.txt\n", Digest::of(b""));
            if n.starts_with("tag") { t } else { t + &line }
        };
    }),
    // Pipes, sockets, devices and links, in each place.
    ("a pipe for a payload file", "bundle::not-regular", |f| {
        f.disk = |p| fifo_for(&p.join(CONFIG))
    }),
    ("a pipe for the receipt", "bundle::not-regular", |f| f.disk = |p| fifo_for(&p.join(RECEIPT))),
    ("a pipe for the weights", "bundle::not-regular", |f| f.disk = |p| fifo_for(&p.join(WEIGHTS))),
    ("a pipe for the log", "bundle::not-regular", |f| f.disk = |p| fifo_for(&p.join(METRICS))),
    ("a pipe for the tag manifest", "bundle::not-regular", |f| {
        f.disk = |p| fifo_for(&p.join("tagmanifest-sha256.txt"));
    }),
    ("a pipe for the manifest", "bundle::not-regular", |f| {
        f.disk = |p| fifo_for(&p.join("manifest-sha256.txt"));
    }),
    ("a pipe for the declaration", "bundle::not-regular", |f| {
        f.disk = |p| fifo_for(&p.join("bagit.txt"))
    }),
    ("a pipe for the facts about the bag", "bundle::not-regular", |f| {
        f.disk = |p| fifo_for(&p.join("bag-info.txt"));
    }),
    ("a pipe for the signature", "bundle::not-regular", |f| {
        f.disk = |p| fifo(&p.join("receipt.sig"))
    }),
    ("a pipe for `data`", "bundle::not-regular", |f| f.disk = |p| fifo_for(&p.join("data"))),
    ("a pipe for the whole bundle", "bundle::not-a-folder", |f| f.disk = |p| fifo_for(p)),
    ("an extra pipe", "bundle::not-regular", |f| f.disk = |p| fifo(&p.join("data/pipe"))),
    ("a socket", "bundle::not-regular", |f| {
        f.disk = |p| drop(UnixListener::bind(p.join("data/s")).unwrap());
    }),
    ("a socket for the signature", "bundle::not-regular", |f| {
        f.disk = |p| drop(UnixListener::bind(p.join("receipt.sig")).unwrap());
    }),
    ("a device for a payload file", "bundle::not-regular", |f| {
        f.disk = |p| device_for(&p.join(CONFIG))
    }),
    ("a device for the tag manifest", "bundle::not-regular", |f| {
        f.disk = |p| device_for(&p.join("tagmanifest-sha256.txt"));
    }),
    ("a link to a device", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::remove_file(p.join(CONFIG)).unwrap();
            symlink("/dev/zero", p.join(CONFIG)).unwrap();
        };
    }),
    ("a link to a file", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::rename(p.join(CONFIG), p.join("../config.json")).unwrap();
            symlink("../../config.json", p.join(CONFIG)).unwrap();
        };
    }),
    ("a link to another file of the bundle", "bundle::not-regular", |f| {
        f.put("data/same.json", "{\"dim\":64}\n");
        f.disk = |p| {
            fs::remove_file(p.join("data/same.json")).unwrap();
            symlink("config.json", p.join("data/same.json")).unwrap();
        };
    }),
    ("a link to itself", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::remove_file(p.join(CONFIG)).unwrap();
            symlink("config.json", p.join(CONFIG)).unwrap();
        };
    }),
    ("a link to nothing", "bundle::not-regular", |f| {
        f.disk = |p| symlink("nowhere", p.join("data/x.txt")).unwrap();
    }),
    ("a link to a descriptor of the reader", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::remove_file(p.join(CONFIG)).unwrap();
            symlink("/proc/self/fd/0", p.join(CONFIG)).unwrap();
        };
    }),
    ("a link for the tag manifest", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::rename(p.join("tagmanifest-sha256.txt"), p.join("../t.txt")).unwrap();
            symlink("../t.txt", p.join("tagmanifest-sha256.txt")).unwrap();
        };
    }),
    ("a link for the declaration", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::rename(p.join("bagit.txt"), p.join("../b.txt")).unwrap();
            symlink("../b.txt", p.join("bagit.txt")).unwrap();
        };
    }),
    ("a link for the signature", "bundle::not-regular", |f| {
        f.disk = |p| symlink("bagit.txt", p.join("receipt.sig")).unwrap();
    }),
    ("a link to a folder", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::rename(p.join("data/evaluation"), p.join("../evaluation")).unwrap();
            symlink("../../evaluation", p.join("data/evaluation")).unwrap();
        };
    }),
    ("a link from a folder to the folder above", "bundle::not-regular", |f| {
        f.disk = |p| symlink("..", p.join("data/up")).unwrap();
    }),
    ("a link for `data`", "bundle::not-regular", |f| {
        f.disk = |p| {
            fs::rename(p.join("data"), p.join("../data")).unwrap();
            symlink("../data", p.join("data")).unwrap();
        };
    }),
    ("a link for the whole bundle", "bundle::not-a-folder", |f| {
        f.disk = |p| {
            fs::rename(p, p.with_file_name("other")).unwrap();
            symlink("other", p).unwrap();
        };
    }),
    ("a file for the whole bundle", "bundle::not-a-folder", |f| {
        f.disk = |p| {
            fs::remove_dir_all(p).unwrap();
            fs::write(p, "").unwrap();
        };
    }),
    ("a hard link to a file outside", "bundle::hard-link", |f| {
        f.disk = |p| fs::hard_link(p.join(CONFIG), p.join("../other.json")).unwrap();
    }),
    ("one file under two names of the bundle", "bundle::hard-link", |f| {
        f.put("data/same.json", "{\"dim\":64}\n");
        f.disk = |p| {
            fs::remove_file(p.join("data/same.json")).unwrap();
            fs::hard_link(p.join(CONFIG), p.join("data/same.json")).unwrap();
        };
    }),
    ("a hard link for the tag manifest", "bundle::hard-link", |f| {
        f.disk = |p| fs::hard_link(p.join("tagmanifest-sha256.txt"), p.join("../t.txt")).unwrap();
    }),
    ("a hard link for the signature", "bundle::hard-link", |f| {
        f.disk = |p| fs::hard_link(p.join("bagit.txt"), p.join("receipt.sig")).unwrap();
    }),
    // Sizes.
    ("a file that is shorter", "bundle::wrong-size", |f| {
        f.disk = |p| fs::write(p.join(CONFIG), "{}\n").unwrap();
    }),
    ("a file that is longer", "bundle::wrong-size", |f| {
        f.disk = |p| fs::write(p.join(WEIGHTS), vec![0; 1 << 20]).unwrap();
    }),
    ("a file that was emptied", "bundle::wrong-size", |f| {
        f.disk = |p| fs::write(p.join(METRICS), "").unwrap()
    }),
    ("a log with one more line", "bundle::wrong-size", |f| {
        f.disk = |p| {
            let text = fs::read_to_string(p.join(METRICS)).unwrap();
            fs::write(p.join(METRICS), text + "{}\n").unwrap();
        };
    }),
    ("a sparse giant declared small", "bundle::sparse-file", |f| {
        f.disk = |p| sparse(&p.join(WEIGHTS), 1 << 40);
    }),
    ("a sparse giant declared as it is", "bundle::sparse-file", |f| {
        f.statement = |s| s["predicate"]["files"][0]["bytes"] = json!(1_u64 << 40);
        f.disk = |p| sparse(&p.join(WEIGHTS), 1 << 40);
    }),
    ("a sparse giant of zeros behind the real bytes", "bundle::sparse-file", |f| {
        f.disk = |p| {
            let file = fs::OpenOptions::new().write(true).open(p.join(WEIGHTS)).unwrap();
            file.set_len(1 << 34).unwrap();
        };
    }),
    ("a sparse receipt below the limit for holes", "source::too-large", |f| {
        f.disk = |p| sparse(&p.join(RECEIPT), 60 << 20);
    }),
    ("a sparse tag manifest below the limit for holes", "source::too-large", |f| {
        f.disk = |p| sparse(&p.join("tagmanifest-sha256.txt"), 60 << 20);
    }),
    ("a sparse signature", "source::too-large", |f| {
        f.disk = |p| sparse(&p.join("receipt.sig"), 60 << 20)
    }),
    ("a size that no number holds", "source::wrong-type", |f| {
        f.statement = |s| s["predicate"]["files"][0]["bytes"] = json!(-1);
    }),
    ("a file without a declared size", "bundle::undeclared-size", |f| {
        f.statement = |s| drop(s["predicate"]["files"].as_array_mut().unwrap().pop());
    }),
    ("no declared sizes at all", "bundle::undeclared-size", |f| {
        f.statement = |s| s["predicate"]["files"] = json!([]);
    }),
    // Bytes.
    ("a changed byte", "bundle::wrong-digest", |f| {
        f.disk = |p| fs::write(p.join(CONFIG), "{\"dim\":65}\n").unwrap();
    }),
    ("a changed byte in a table", "bundle::wrong-digest", |f| {
        f.disk = |p| fs::write(p.join(TASKS), "task,accuracy\ncopa,0.71\n").unwrap();
    }),
    ("a changed byte in the weights", "bundle::wrong-digest", |f| {
        f.disk = |p| fs::write(p.join(WEIGHTS), weights([f32::NAN, -1.0, 3e38, 0.0])).unwrap();
    }),
    ("a changed receipt", "bundle::wrong-digest", |f| {
        f.disk = |p| {
            let text = fs::read_to_string(p.join(RECEIPT)).unwrap();
            fs::write(p.join(RECEIPT), text.replace("run-1", "run-2")).unwrap();
        };
    }),
    ("two files that changed places", "bundle::wrong-size", |f| {
        f.disk = |p| {
            fs::rename(p.join(CONFIG), p.join("data/x")).unwrap();
            fs::rename(p.join(TASKS), p.join(CONFIG)).unwrap();
            fs::rename(p.join("data/x"), p.join(TASKS)).unwrap();
        };
    }),
    ("a program's mode on an extra file", "bundle::extra-file", |f| {
        f.disk = |p| {
            fs::write(p.join("data/run.sh"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(p.join("data/run.sh"), fs::Permissions::from_mode(0o4777)).unwrap();
        };
    }),
];
