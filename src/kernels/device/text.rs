//! The kernel source, and the parameters of each kernel.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// All kernels.
pub const TEXT: &str = concat!(
    include_str!("text/dialect.h"),
    include_str!("text/functions.h"),
    include_str!("text/product.h"),
    include_str!("text/rows.h"),
    include_str!("text/attention.h"),
    include_str!("text/mixture.h"),
    include_str!("text/tables.h"),
    include_str!("text/muon.h"),
);

/// The prefix of kernel names for a runtime, so that none is a function of its language.
pub const PREFIX: &str = "repro_";

/// The numbers of the text that launches depend on.
pub const ITEMS: usize = 256;
/// Rows of a group whose sums have lanes.
pub const ROWS: usize = 16;
/// Rows and columns of a group of products, and its items: of a processor, and of other devices.
pub const ONE_ITEM: ProductShape = ProductShape { tall: 8, wide: 32, items: 1 };
/// See [`ONE_ITEM`].
pub const MANY_ITEMS: ProductShape = ProductShape { tall: 128, wide: 64, items: 128 };

/// How products are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductShape {
    /// Rows of a group.
    pub tall: usize,
    /// Columns of a group.
    pub wide: usize,
    /// Items of a group.
    pub items: usize,
}

/// The parameter of a kernel at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A table of elements of this type, and where it begins.
    Table(&'static str),
    /// A whole number.
    Int,
    /// A whole number of 64 bits.
    Long,
    /// A float32.
    Float,
    /// A float64.
    Double,
}

/// The kernels by name.
pub fn kernels() -> &'static BTreeMap<&'static str, Vec<Parameter>> {
    static KERNELS: OnceLock<BTreeMap<&'static str, Vec<Parameter>>> = OnceLock::new();
    KERNELS.get_or_init(|| TEXT.split("\nKERNEL(").skip(1).filter_map(kernel).collect())
}

/// A kernel by the text behind `KERNEL(`: `name)(READ(float, x), INT(rows)) {...`.
fn kernel(text: &'static str) -> Option<(&'static str, Vec<Parameter>)> {
    let (name, rest) = text.split_once(")(")?;
    let (list, _) = rest.split_once(") {")?;
    // The comma between parameters, and not the one inside of `READ(float, x)`.
    let mut parameters = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parameters.push(parameter(list.get(from..at)?)?);
                from = at + 1;
            }
            _ => {}
        }
    }
    parameters.push(parameter(list.get(from..)?)?);
    Some((name, parameters))
}

fn parameter(text: &'static str) -> Option<Parameter> {
    let text = text.trim();
    let table = text.strip_prefix("READ(").or(text.strip_prefix("WRITE("));
    if let Some(table) = table {
        return table.split_once(',').map(|(of, _)| Parameter::Table(of));
    }
    let of = |prefix: &str, parameter| text.starts_with(prefix).then_some(parameter);
    of("INT(", Parameter::Int)
        .or(of("LONG ", Parameter::Long))
        .or(of("FLOAT(", Parameter::Float))
        .or(of("DOUBLE(", Parameter::Double))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_the_text_has_its_parameters() {
        let kernels = kernels();
        assert_eq!(kernels.len(), TEXT.matches("\nKERNEL(").count());
        use Parameter::{Double, Float, Int, Long, Table};
        assert_eq!(kernels["scale"], [Table("float"), Float, Long]);
        assert_eq!(kernels["arrange"].len(), 7);
        assert!(kernels["uneven"].contains(&Double));
        assert_eq!(kernels["score"][1..4], [Table("unsigned int"), Table("float"), Table("int")]);
        assert!(kernels.values().flatten().any(|parameter| *parameter == Int));
    }

    #[test]
    fn launches_know_the_numbers_of_the_text() {
        let lines: Vec<_> = TEXT.lines().collect();
        for line in [format!("#define ITEMS {ITEMS}"), format!("#define LANES {}", ITEMS / ROWS)] {
            assert!(lines.contains(&&*line), "{line}");
        }
        let (one, many) =
            TEXT.split_once("#ifdef ONE_ITEM").unwrap().1.split_once("#else").unwrap();
        for (text, shape) in [(one, ONE_ITEM), (many.split_once("#endif").unwrap().0, MANY_ITEMS)] {
            let of = |name: &str| -> usize {
                let line =
                    text.lines().find_map(|line| line.strip_prefix(&*format!("#define {name} ")));
                line.unwrap().parse().unwrap()
            };
            let wide = of("COLUMN_ITEMS") * of("PER_COLUMN") * of("VECTOR");
            let items = of("TALL") / of("PER_ROW") * of("COLUMN_ITEMS");
            assert_eq!(shape, ProductShape { tall: of("TALL"), wide, items });
        }
    }
}
