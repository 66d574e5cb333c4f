//! A folder of objects, local or in object storage: each has a name and bytes, and is written as a whole and, unless it
//! was found corrupt, once.

mod address;
mod bundle;
#[cfg(feature = "cloud")]
mod cloud;
#[cfg(not(feature = "cloud"))]
#[path = "no_cloud.rs"]
mod cloud;
mod created;
mod head;
mod limits;
mod local;
mod located;
mod name;
mod part;
mod settings;
mod store;

pub use address::local_path;
pub use bundle::fetch_bundle;
pub use created::Created;
pub use head::fetch_head;
pub use limits::Limits;
pub use located::{Located, is_url};
pub use part::ObjectPart;
pub use settings::StoreSettings;
pub use store::Store;

use repro_core::source::codes;

codes! {
    BAD_ADDRESS = "storage::bad-address", "a store's address is invalid", "pass a folder, or a URL such as `s3://bucket/folder`";
    NO_CLOUD = "storage::not-in-this-build", "this build supports only folders as stores", "build with `--features cloud`, or copy the objects into a folder and pass that";
    BAD_NAME = "storage::bad-name", "an object name is invalid", "use letters, digits and `._-=+,` in names, separated by `/`";
    NOT_A_FOLDER = "storage::not-a-folder", "a store is not a folder", "pass a folder; a missing one is created with the first object";
    NOT_AN_OBJECT = "storage::not-an-object", "a store contains something that is not an object", "move everything but plain files and folders out of the store";
    TOO_LARGE = "storage::too-large", "an object is larger than any that repro reads", "check what the file is, and move it out of the store";
    NO_CREDENTIALS = "storage::no-credentials", "the environment has no credentials", "set your provider's credentials in the environment";
    BAD_SETTINGS = "storage::bad-settings", "the storage settings in the environment are invalid", "check them one by one; no message shows their values";
    REFUSED = "storage::access-refused", "the server rejected the request", "check that the credentials in the environment have the permission";
    UNREACHABLE = "storage::unreachable", "the server cannot be reached, or does not answer in time", "run the command again: finished work is kept";
    READ_ONLY = "storage::read-only", "`https://` stores are read-only", "pass a folder, or an `s3://`, `gs://` or `az://` store";
    UNREADABLE = "storage::unreadable", "an object cannot be read", "check that the store exists and that you have read permission";
    NOT_WRITTEN = "storage::not-written", "an object could not be written", "free some space, or check that you have write permission; then run the command again";
}
