//! Lists of numbers, in the ways that a post file may write them.
//!
//! Owns the shapes of a list: terms one by one, a column of records, a list of a document, one value of
//! each of several bundles, and means of lists. What one term is, is left to the module above.

use num_rational::BigRational;

use super::{BAD_CHOICE, Evidence, EvidenceQuantity, WRONG_INPUTS, number, precision_of};
use repro_exact::decimal::{Interval, format_significant, nearest_f64};
use repro_exact::formula::{Operand, Precision};
use repro_receipt::bundle::Bundle;
use repro_receipt::source::{Document, Error, Node};

/// More bundles than a post pins by hand are a slip of the pen.
const MOST_BUNDLES: u64 = 10_000;

impl<'a> Evidence<'a> {
    /// A labelled list of terms; or one `column` of a table of records, each labelled by its `by`; or
    /// the value at one `pointer` of each of several `bundles`, labelled by its name; or the numbers of
    /// the `list` of a document; or the means of several such lists (`mean_of`).
    pub fn quantities(&self, list: Node) -> Result<Vec<EvidenceQuantity>, Error> {
        self.quantities_as(list, Precision::Auto)
    }

    /// The same, where plain values are as exact as `nature` says, unless they say otherwise.
    pub fn quantities_as(
        &self,
        list: Node,
        precision: Precision,
    ) -> Result<Vec<EvidenceQuantity>, Error> {
        if let Some(column) = list.get("column") {
            self.column(list, column.text()?, precision)
        } else if let Some(pointer) = list.get("list") {
            list.only(&["bundle", "file", "list", "precision"])?;
            numbers(self.document(list)?, pointer.text()?, list, precision)
        } else if let Some(lists) = list.get("mean_of") {
            list.only(&["mean_of", "precision"])?;
            let precision = precision_of(list)?.unwrap_or(precision);
            self.means(lists, precision)
        } else if let Some(bundles) = list.get("bundles") {
            list.only(&["bundles", "file", "pointer", "precision"])?;
            let pointer = list.required("pointer")?.text()?;
            let one = |bundle: &Bundle| {
                let datum = self.datum_in(bundle, self.file_of(list)?, pointer.to_owned(), list)?;
                let number = number(datum.printed()?, datum.node, list, precision)?;
                Ok(EvidenceQuantity { label: bundle.name().to_owned(), ..number })
            };
            self.each_of(bundles)?.into_iter().map(one).collect()
        } else {
            list.items()?.map(|term| self.quantity_as(term, precision)).collect()
        }
    }

    /// The first numbers' mean, the second numbers' mean and so on, of lists of one length: lists one
    /// by one, or the `list` of the same `file` of each of several `bundles`.
    fn means(&self, lists: Node, precision: Precision) -> Result<Vec<EvidenceQuantity>, Error> {
        let read: Vec<_> = if let Some(bundles) = lists.get("bundles") {
            lists.only(&["bundles", "file", "list"])?;
            let (file, pointer) = (self.file_of(lists)?, lists.required("list")?.text()?);
            let one = |bundle| numbers(self.file(bundle, file, lists)?, pointer, lists, precision);
            self.each_of(bundles)?.into_iter().map(one).collect::<Result<_, Error>>()?
        } else {
            let lists = lists.items()?;
            lists.map(|list| self.quantities_as(list, precision)).collect::<Result<_, Error>>()?
        };
        let length = read.first().map_or(0, Vec::len);
        if length == 0 || read.iter().any(|list| list.len() != length) {
            let lengths: Vec<_> = read.iter().map(|list| list.len().to_string()).collect();
            let expected = "at least one list, all of one length above 0";
            return Err(WRONG_INPUTS.at(lists.place(), expected, lengths.join(", ")));
        }
        let part = BigRational::new(1.into(), read.len().into());
        let mean = |at: usize| {
            let zero = Interval::integer(0);
            let all = read.iter().filter_map(|list| list.get(at));
            let sum = all.fold(zero, |sum, quantity| &sum + &quantity.interval);
            let interval = sum.scaled(&part);
            let float = nearest_f64(&interval.middle());
            let text = format_significant(&interval.middle(), 10);
            EvidenceQuantity::plain(Operand::computed(text, interval, float))
        };
        Ok((0..length).map(mean).collect())
    }

    /// The numbers of a column in the order of the file; records without it are passed over.
    fn column(
        &self,
        list: Node,
        column: &str,
        precision: Precision,
    ) -> Result<Vec<EvidenceQuantity>, Error> {
        list.only(&["bundle", "file", "column", "by", "precision"])?;
        let by = list.get("by").map(Node::text).transpose()?;
        let mut numbers = Vec::new();
        for record in self.document(list)?.root().items()? {
            let cell = |name: &str| record.get(name).map(Node::printed).transpose();
            let Some(text) = cell(column)?.filter(|text| !text.is_empty()) else { continue };
            let number = number(text, record, list, precision)?;
            let label = by.map(|by| Ok(format!("{by} {}", cell(by)?.unwrap_or_default())));
            numbers
                .push(EvidenceQuantity { label: label.transpose()?.unwrap_or_default(), ..number });
        }
        Ok(numbers)
    }

    /// The bundles that a name with one range of numbers stands for: `run-s{1..3}` is `run-s1`,
    /// `run-s2` and `run-s3`, in that order.
    fn each_of(&self, bundles: Node) -> Result<Vec<&'a Bundle>, Error> {
        let text = bundles.text()?;
        let (before, first, last, after) = range(text).ok_or_else(|| {
            let expected = "a name with one range of numbers, such as `run-s{1..3}`";
            BAD_CHOICE.at(bundles.place(), expected, format!("`{text}`"))
        })?;
        (first..=last)
            .map(|number| {
                let name = format!("{before}{number}{after}");
                self.loaded(&self.post.pin(&name, bundles)?.name, bundles)
            })
            .collect()
    }
}

/// The numbers of the list that stands at `pointer`; a refusal of one of them stands at `asked`.
fn numbers(
    document: &Document,
    pointer: &str,
    asked: Node,
    precision: Precision,
) -> Result<Vec<EvidenceQuantity>, Error> {
    let list = document.root().at(pointer)?;
    list.items()?.map(|node| number(node.printed()?, node, asked, precision)).collect()
}

/// The parts of a name with a range: what stands before it, its ends, and what stands after it.
fn range(text: &str) -> Option<(&str, u64, u64, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (inside, after) = rest.split_once('}')?;
    let (first, last) = inside.split_once("..")?;
    let digits = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || !digits(last) || after.contains(['{', '}']) {
        return None;
    }
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last - first < MOST_BUNDLES).then_some((before, first, last, after))
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_name_has_one_range() {
        assert_eq!(range("a-s{1..6}"), Some(("a-s", 1, 6, "")));
        assert_eq!(range("a-s{9..10}-shared"), Some(("a-s", 9, 10, "-shared")));
        for odd in [
            "a-s1",
            "a-s{1}",
            "a-s{2..1}",
            "a-s{1..}",
            "a-s{-1..2}",
            "a-s{+1..2}",
            "s{1..2}{1..2}",
            "s{0..99999}",
        ] {
            assert_eq!(range(odd), None, "{odd}");
        }
    }
}
