//! Records: structures that are read from a tree with every unknown field rejected, and written back
//! with absent fields left out. Reading and writing come from one declaration, so they agree.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{BAD_DIGEST, canonical::to_json};
use repro_core::digest::{Digest, NotCanonical};
use repro_core::source::{Error, Node};

/// A value that can stand in a record.
pub trait RecordValue: Sized {
    /// Reads it.
    fn read(node: Node<'_>) -> Result<Self, Error>;
    /// The value if the record lacks the field; nothing if the field is required.
    fn absent() -> Option<Self> {
        None
    }
    /// Writes it; nothing where it is left out.
    fn write(&self) -> Result<Option<Json>, NotCanonical>;
}

/// Reads the field `key` of a record.
pub fn field<T: RecordValue>(record: Node<'_>, key: &str) -> Result<T, Error> {
    match (record.get(key), T::absent()) {
        (Some(node), _) => T::read(node),
        (None, Some(absent)) => Ok(absent),
        (None, None) => T::read(record.required(key)?),
    }
}

/// Declares a structure whose fields are [`RecordValue`]s, and makes it one itself.
#[macro_export]
macro_rules! record {
    ($(#[$about:meta])* $name:ident {
        $($(#[$what:meta])* $field:ident $(($key:literal))? : $type:ty,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$what])* pub $field: $type,)+ }

        impl $crate::bundle::record::RecordValue for $name {
            fn read(node: repro_core::source::Node<'_>) -> Result<Self, repro_core::source::Error> {
                node.only(&[$($crate::record_key!($field $($key)?)),+])?;
                Ok(Self { $($field: $crate::bundle::record::field(
                    node, $crate::record_key!($field $($key)?))?,)+ })
            }
            fn write(&self) -> Result<Option<serde_json::Value>, repro_core::digest::NotCanonical> {
                let mut members = serde_json::Map::new();
                $(if let Some(value) = $crate::bundle::record::RecordValue::write(&self.$field)? {
                    let key = $crate::record_key!($field $($key)?);
                    members.insert(key.to_owned(), value);
                })+
                Ok(Some(serde_json::Value::Object(members)))
            }
        }
    };
}

/// The key of a field: its name, or the literal where the name is a word of the language.
#[doc(hidden)]
#[macro_export]
macro_rules! record_key {
    ($field:ident $key:literal) => {
        $key
    };
    ($field:ident) => {
        stringify!($field)
    };
}
pub use crate::record;

impl RecordValue for String {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        Ok(node.text()?.to_owned())
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok(Some(self.as_str().into()))
    }
}

impl RecordValue for bool {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        node.truth()
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok(Some((*self).into()))
    }
}

impl RecordValue for u64 {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        node.integer()
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok(Some((*self).into()))
    }
}

impl RecordValue for f64 {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        node.float()
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        let number = serde_json::Number::from_f64(*self)
            .ok_or_else(|| NotCanonical::Unwritable(format!("the number {self} is not finite")))?;
        Ok(Some(Json::Number(number)))
    }
}

impl RecordValue for Digest {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        let text = node.text()?;
        Digest::parse_hex(text).ok_or_else(|| {
            let found: String = text.chars().take(80).collect();
            BAD_DIGEST.at(node.place(), "64 lowercase hexadecimal digits", format!("`{found}`"))
        })
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok(Some(self.to_string().into()))
    }
}

impl<T: RecordValue> RecordValue for Option<T> {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        T::read(node).map(Some)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        self.as_ref().map_or(Ok(None), T::write)
    }
}

impl<T: RecordValue> RecordValue for Vec<T> {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        let items = node.items()?;
        let mut read = Vec::with_capacity(items.len());
        for item in items {
            read.push(T::read(item)?);
        }
        Ok(read)
    }
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        if self.is_empty() {
            return Ok(None);
        }
        let items: Result<Vec<_>, _> = self.iter().map(T::write).collect();
        Ok(Some(Json::Array(items?.into_iter().flatten().collect())))
    }
}

impl<T: RecordValue> RecordValue for BTreeMap<String, T> {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        node.members()?.map(|(key, value)| Ok((key.to_owned(), T::read(value)?))).collect()
    }
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut members = Map::new();
        for (key, value) in self {
            members.extend(value.write()?.map(|value| (key.clone(), value)));
        }
        Ok(Some(Json::Object(members)))
    }
}

/// A table whose members nobody checks.
pub type Open = Map<String, Json>;

impl RecordValue for Open {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        Ok(node.members()?.map(|(key, value)| (key.to_owned(), to_json(value.value()))).collect())
    }
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok((!self.is_empty()).then(|| Json::Object(self.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    record! {
        /// A record with every sort of field.
        Sample {
            /// Required.
            name: String,
            /// Under another name in the text.
            kind ("match"): Option<String>,
            /// A list.
            steps: Vec<u64>,
            /// Anything.
            extra: Open,
            /// A fraction.
            share: Option<f64>,
        }
    }

    fn read(text: &str) -> Result<Sample, Error> {
        let source = Source::new("t.json", text.into()).unwrap();
        Sample::read(Document::parse_json(source).unwrap().root())
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text =
            r#"{"name":"a","match":"b","steps":[1,2],"extra":{"x":[null,0.5]},"share":0.25}"#;
        let sample = read(text).unwrap();
        assert_eq!(sample.write().unwrap().unwrap().to_string(), text);
        let small = read(r#"{"name":"a"}"#).unwrap();
        assert_eq!((small.kind.as_deref(), small.steps.len()), (None, 0));
        assert_eq!(small.write().unwrap().unwrap().to_string(), r#"{"name":"a"}"#);
        let broken = Sample { share: Some(f64::NAN), ..small };
        assert!(matches!(broken.write(), Err(NotCanonical::Unwritable(_))));
    }

    #[test]
    fn strange_records_are_refused_with_their_place() {
        for (text, code, pointer) in [
            ("{}", "source::missing-field", ""),
            (r#"{"name":"a","kind":"b"}"#, "source::unknown-field", "/kind"),
            (r#"{"name":1}"#, "source::wrong-type", "/name"),
            (r#"{"name":"a","steps":[1,-1]}"#, "source::wrong-type", "/steps/1"),
            (r#"{"name":"a","extra":[]}"#, "source::wrong-type", "/extra"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((error.code.id, error.place.pointer.as_str()), (code, pointer), "{text}");
        }
    }
}
