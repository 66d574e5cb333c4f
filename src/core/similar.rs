//! Similarly spelled names, for suggestions in messages.

/// The number of characters of a name that are compared.
const LONGEST: usize = 100;
/// The number of names that a name is compared with.
const MOST: usize = 10_000;

/// The name in `known` that is spelled most like `wanted`, if one is near: up to a third may differ.
pub fn nearest<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let far = (wanted.chars().count() / 3).max(1);
    let with_distance = |name: &'k str| (distance(wanted, name), name);
    let near = known.into_iter().take(MOST).filter(|name| *name != wanted).map(with_distance);
    near.filter(|(distance, _)| *distance <= far).min().map(|(_, name)| name)
}

/// Several such names, the nearest first; of names that differ only in their final digits, one.
pub fn several<'k>(
    wanted: &str,
    known: impl IntoIterator<Item = &'k str>,
    most: usize,
) -> Vec<&'k str> {
    let far = (wanted.chars().count() / 3).max(1);
    let with_distance = |name: &'k str| (distance(wanted, name), std::cmp::Reverse(name));
    let mut near: Vec<_> = known.into_iter().take(MOST).map(with_distance).collect();
    near.retain(|(distance, _)| *distance <= far);
    near.sort();
    let mut found: Vec<&str> = Vec::new();
    let stem = |name: &'k str| name.trim_end_matches(|c: char| c.is_ascii_digit());
    for (_, std::cmp::Reverse(name)) in near {
        if found.len() < most && found.iter().all(|other| stem(other) != stem(name)) {
            found.push(name);
        }
    }
    found
}

/// "did you mean `x`?", if a name is near.
pub fn did_you_mean<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    nearest(wanted, known).map(|name| format!("did you mean `{name}`?"))
}

/// The number of insertions, deletions, replacements and swaps of neighbors that turn one word into the other, ignoring
/// case. Words beyond a hundred characters are far from all others.
pub fn distance(a: &str, b: &str) -> usize {
    // Words of a megabyte are not compared at all.
    if a.len().max(b.len()) > 4 * LONGEST {
        return if a == b { 0 } else { usize::MAX };
    }
    let [a, b] = [a, b].map(|word| word.to_lowercase().chars().collect::<Vec<_>>());
    if a.len().max(b.len()) > LONGEST {
        return if a == b { 0 } else { usize::MAX };
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_near() {
        for (a, b, wanted) in [
            ("", "", 0),
            ("", "abc", 3),
            ("mean", "maen", 1),
            ("loss", "los", 1),
            ("Loss", "loss", 0),
            ("dense", "moe", 4),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (wanted, wanted), "{a} {b}");
        }
        assert!(distance(&"a".repeat(200), "a") > 1000);
    }

    #[test]
    fn what_was_perhaps_meant_is_named() {
        let known = ["mean", "means", "median", "sd"];
        assert_eq!(nearest("maen", known), Some("mean"));
        assert_eq!(nearest("quantile", known), None);
        assert_eq!(nearest("sb", known), Some("sd"));
        assert_eq!(nearest("", known), None);
        let runs = ["moe-s1", "moe-s2", "mode-s1", "dense-s1"];
        assert_eq!(several("moe-s3", runs, 2), ["moe-s2", "mode-s1"]);
        assert_eq!(did_you_mean("meen", known).unwrap(), "did you mean `mean`?");
    }
}
