//! The numbers that a person gives to `repro stats`, read strictly.

use std::path::Path;

use num_rational::BigRational;

use super::super::{BAD_NUMBER, BAD_USAGE, args};
use repro_core::source::{
    Document, Error, Kind, Location, Node, Source, UNKNOWN_FIELD, WRONG_TYPE,
};
use repro_stats::answers::{ArmValues, ListedValues, StatsRequest};
use repro_stats::bootstrap::RESAMPLES;
use repro_stats::power::{Goal, Sides};
use repro_stats::proportion::{Proportion, mcnemar};
use repro_stats::{Decimal, Decimals, Refused, Summary};

/// A description of a number's format.
const NUMBER: &str = "a number such as `1.65`, `-0.02` or `3e-4`";

/// Reads the arguments and the files they name.
pub fn read(own: &args::StatsArgs) -> Result<StatsRequest, Error> {
    let [a, b] = arms(own)?;
    let level = share("--level", &own.level)?;
    let power = share("--power", &own.power)?;
    let goal = Goal::new(1.0 - level, power, Sides::Two);
    let goal = goal.map_err(|_| {
        bad("--power", "a power above 1 - level", format!("{power} at the level {level}"))
    })?;
    if !RESAMPLES.contains(&own.resamples) {
        let (least, most) = (RESAMPLES.start(), RESAMPLES.end());
        let expected = format!("a number from {least} to {most}");
        return Err(bad("--resamples", expected, own.resamples.to_string()));
    }
    let read = |name, text: &Option<String>| text.as_ref().map(|text| number(name, text));
    let asked = StatsRequest {
        a,
        b,
        proportions: own.counts.as_deref().map_or(Ok(Vec::new()), proportions)?,
        discordant: own.paired_counts.as_deref().map(discordant).transpose()?,
        p_values: own.p_values.as_deref().map_or(Ok(Vec::new()), p_values)?,
        scores: own.scores.as_deref().map_or(Ok(Vec::new()), scores)?,
        groups: own.groups.as_deref().map_or(Ok(Vec::new()), groups)?,
        categories: counts("--categories", own.categories.as_deref())?.unwrap_or_default(),
        expected: counts("--expected", own.expected.as_deref())?,
        target: read("--target", &own.target).transpose()?,
        margin: own.margin.as_deref().map(margin).transpose()?,
        level,
        goal,
        power,
        seed: own.seed,
        resamples: own.resamples,
    };
    checked(asked)
}

/// Rejects options that nothing would answer to.
fn checked(asked: StatsRequest) -> Result<StatsRequest, Error> {
    let alone = asked.proportions.is_empty()
        && asked.discordant.is_none()
        && asked.p_values.is_empty()
        && asked.groups.is_empty()
        && asked.categories.is_empty()
        && asked.scores.is_empty();
    if asked.a.is_none() && alone {
        let expected = "a file, `--a`, `--summary-a`, `--counts`, `--paired-counts`, `--p-values`, \
                            `--groups`, `--categories` or `--scores`";
        return Err(BAD_USAGE.at(Location::file("stats"), expected, "none"));
    }
    for (name, given) in
        [("--target", asked.target.is_some()), ("--margin", asked.margin.is_some())]
    {
        if given && asked.a.is_none() {
            return Err(BAD_USAGE.at(
                Location::file(name),
                "a second list or a target to compare with",
                "none",
            ));
        }
    }
    Ok(asked)
}

fn bad(place: &str, expected: impl Into<String>, found: impl Into<String>) -> Error {
    BAD_NUMBER.at(Location::file(place), expected, found)
}

/// Both arms from a file, lists or summaries; a second one needs a first.
fn arms(own: &args::StatsArgs) -> Result<[Option<ArmValues>; 2], Error> {
    match own.file.as_slice() {
        [] => {}
        [file] if decimal(file).is_err() => {
            if own.b.is_some() || own.summary_b.is_some() {
                let place = Location::file(file.as_str());
                return Err(BAD_USAGE.at(place, "a file, or lists as arguments", "both"));
            }
            let lists = columns(Path::new(file), &own.column)?;
            return Ok(lists.map(|list| list.map(values_of)));
        }
        numbers => {
            let a = Some(values_of(list("stats", &numbers.join(","))?));
            return Ok([a, second(own)?]);
        }
    }
    let a = arm("--a", own.a.as_deref(), "--summary-a", own.summary_a.as_deref())?;
    let b = second(own)?;
    if a.is_none() && b.is_some() {
        return Err(BAD_USAGE.at(
            Location::file("--a"),
            "a first list in addition to the second",
            "none",
        ));
    }
    Ok([a, b])
}

fn second(own: &args::StatsArgs) -> Result<Option<ArmValues>, Error> {
    arm("--b", own.b.as_deref(), "--summary-b", own.summary_b.as_deref())
}

/// One arm, from its list or its summary.
fn arm(
    list_option: &str,
    values: Option<&str>,
    summary_option: &str,
    described: Option<&str>,
) -> Result<Option<ArmValues>, Error> {
    Ok(match (values, described) {
        (Some(text), _) => Some(values_of(list(list_option, text)?)),
        (None, Some(text)) => Some(ArmValues::Summary(summary(summary_option, text)?)),
        (None, None) => None,
    })
}

/// A number as it is written, and the float nearest to it.
#[derive(Debug)]
struct WrittenNumber {
    float: f64,
    exact: Decimal,
}

fn values_of(numbers: Vec<WrittenNumber>) -> ArmValues {
    let values = numbers.into_iter().map(|number| (number.float, number.exact));
    ArmValues::Values(ListedValues::of(values))
}

fn floats(numbers: Vec<WrittenNumber>) -> Vec<f64> {
    numbers.into_iter().map(|number| number.float).collect()
}

/// A plain decimal number, digits with a point, perhaps a sign and an exponent; or what was expected
/// and what was found.
fn decimal(text: &str) -> Result<WrittenNumber, (&'static str, String)> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let float = match text.parse::<f64>().ok().filter(|_| plain) {
        Some(float) => float,
        None if text.is_empty() => return Err((NUMBER, "nothing".to_owned())),
        None => return Err((NUMBER, format!("`{text}`"))),
    };
    // A text of more digits than are read exactly stands for its float.
    let exact = Decimal::of(float).map(|near| Decimal::parse(text).unwrap_or(near));
    match exact {
        Some(exact) => Ok(WrittenNumber { float, exact }),
        None => Err(("a number within the range of floating point", format!("`{text}`"))),
    }
}

fn number(place: &str, text: &str) -> Result<f64, Error> {
    let number = decimal(text.trim());
    number.map(|number| number.float).map_err(|(expected, found)| bad(place, expected, found))
}

/// Numbers between commas. Digits that look like one number with a decimal comma are rejected.
fn list(place: &str, text: &str) -> Result<Vec<WrittenNumber>, Error> {
    let items: Vec<_> = text.split(',').collect();
    if decimal_commas(&items) {
        let error =
            bad(place, "values with decimal points, separated by commas", format!("`{text}`"));
        return Err(error.help(
            "write `1.65` for a decimal; for integers put a space after each comma, as in `\"1, 65\"`",
        ));
    }
    if let Some(sign) = text.chars().find(|sign| ";|\t".contains(*sign)) {
        return Err(bad(place, "values separated by commas", format!("`{sign}` in `{text}`")));
    }
    let at = |(index, item): (usize, &&str)| {
        let value = decimal(item.trim());
        value.map_err(|(expected, found)| {
            bad(place, expected, format!("{found} as value {}", index + 1))
        })
    };
    items.iter().enumerate().map(at).collect()
}

/// Whether all items are whole numbers that pair up to decimals with one whole part of one digit and
/// fractions of one width: `1,65,1,66`.
fn decimal_commas(items: &[&str]) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut pairs = items.chunks(2);
    let Some([whole, fraction]) = items.get(..2) else { return false };
    let whole = whole.trim_start_matches(['-', '+']);
    whole.len() == 1
        && fraction.len() > 1
        && pairs.all(|pair| match pair {
            [left, right] => {
                left.trim_start_matches(['-', '+']) == whole
                    && right.len() == fraction.len()
                    && digits(whole)
                    && digits(right)
            }
            _ => false,
        })
}

/// `MEAN,SD,N`.
fn summary(place: &str, text: &str) -> Result<Summary, Error> {
    let expected =
        "`MEAN,SD,N`: a mean, a standard deviation of at least 0, and a count of at least 2";
    let wrong = || bad(place, expected, format!("`{text}`"));
    let items: Vec<_> = text.split(',').map(str::trim).collect();
    let [mean, sd, n] = items.as_slice() else { return Err(wrong()) };
    let summary = Summary {
        mean: number(place, mean)?,
        sd: number(place, sd)?,
        n: n.parse().map_err(|_| wrong())?,
    };
    summary.checked().map_err(|_| wrong())
}

/// A probability strictly between 0 and 1.
fn share(place: &str, text: &str) -> Result<f64, Error> {
    let value = number(place, text)?;
    if value > 0.0 && value < 1.0 {
        return Ok(value);
    }
    Err(bad(place, "a number strictly between 0 and 1, such as `0.95`", format!("`{text}`")))
}

/// `LOW..HIGH`.
fn margin(text: &str) -> Result<[f64; 2], Error> {
    let wrong =
        || bad("--margin", "`LOW..HIGH` with a lower and a higher number", format!("`{text}`"));
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let (low, high) = (number("--margin", low)?, number("--margin", high)?);
    if low < high { Ok([low, high]) } else { Err(wrong()) }
}

/// `K/N` or `K/N,K/N`.
fn proportions(text: &str) -> Result<Vec<Proportion>, Error> {
    let wrong = || bad("--counts", "`SUCCESSES/TRIALS`, one or two of them", format!("`{text}`"));
    let one = |item: &str| {
        let (successes, trials) = item.split_once('/').ok_or_else(wrong)?;
        let count = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let counts = (count(successes)?, count(trials)?);
        Proportion::new(counts.0, counts.1).map_err(|refused| {
            bad(
                "--counts",
                "no more successes than trials, and at least one trial",
                refused.to_string(),
            )
        })
    };
    let all: Vec<_> = text.split(',').map(one).collect::<Result<_, _>>()?;
    if all.len() <= 2 { Ok(all) } else { Err(wrong()) }
}

/// `B,C`.
fn discordant(text: &str) -> Result<[u64; 2], Error> {
    let place = "--paired-counts";
    let wrong = || bad(place, "`B,C`: two counts of at least 0", format!("`{text}`"));
    let (b, c) = text.split_once(',').ok_or_else(wrong)?;
    let count = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let (b, c) = (count(b)?, count(c)?);
    match mcnemar(b, c) {
        Err(refused @ Refused::CountTooLarge(_)) => {
            Err(bad(place, "smaller counts", refused.to_string()))
        }
        _ => Ok([b, c]),
    }
}

/// The numbers of a list as they are written, if there is one.
fn counts(place: &str, text: Option<&str>) -> Result<Option<Vec<BigRational>>, Error> {
    let Some(text) = text else { return Ok(None) };
    Ok(Some(list(place, text)?.iter().map(|number| number.exact.value()).collect()))
}

fn p_values(text: &str) -> Result<Vec<f64>, Error> {
    let values = floats(list("--p-values", text)?);
    match values.iter().find(|value| !(0.0..=1.0).contains(*value)) {
        None => Ok(values),
        Some(value) => Err(bad("--p-values", "numbers from 0 to 1", format!("`{value}`"))),
    }
}

fn load(path: &Path) -> Result<Document, Error> {
    Document::parse(Source::load(path, path.display().to_string())?)
}

/// Both lists of a file: its columns `a` and `b`, or those that are named.
fn columns(path: &Path, names: &[String]) -> Result<[Option<Vec<WrittenNumber>>; 2], Error> {
    let document = load(path)?;
    let root = document.root();
    let names: Vec<&str> = match names {
        [] => {
            let all = column_names(root)?;
            // A column of another name may be a list that was meant to be read.
            if let Some(other) = all.iter().find(|name| !["a", "b"].contains(*name)) {
                let found = format!("`{other}`");
                let error = UNKNOWN_FIELD.at(root.place(), "the columns `a` and `b`", found);
                return Err(error.help("name the columns with `--column NAME`, once or twice"));
            }
            ["a", "b"].into_iter().filter(|name| *name == "a" || all.contains(name)).collect()
        }
        [_] | [_, _] => names.iter().map(String::as_str).collect(),
        more => {
            let found = more.len().to_string();
            return Err(BAD_USAGE.at(Location::file("--column"), "one or two columns", found));
        }
    };
    let mut lists = names.into_iter().map(|name| column(root, name));
    Ok([lists.next().transpose()?, lists.next().transpose()?])
}

/// The runs of every task: all columns of a file.
fn scores(path: &Path) -> Result<Vec<Vec<f64>>, Error> {
    Ok(all_columns(path, "a column for each task")?.into_iter().map(floats).collect())
}

/// The values of every group: all columns of a file.
fn groups(path: &Path) -> Result<Vec<Decimals>, Error> {
    let exact = |column: Vec<WrittenNumber>| {
        Decimals::from(column.into_iter().map(|number| number.exact).collect::<Vec<_>>())
    };
    Ok(all_columns(path, "a column for each group")?.into_iter().map(exact).collect())
}

fn all_columns(path: &Path, expected: &str) -> Result<Vec<Vec<WrittenNumber>>, Error> {
    let document = load(path)?;
    let root = document.root();
    let names = column_names(root)?;
    let columns: Vec<_> =
        names.into_iter().map(|name| column(root, name)).collect::<Result<_, _>>()?;
    if columns.is_empty() {
        return Err(WRONG_TYPE.at(root.place(), expected, "none"));
    }
    Ok(columns)
}

/// The names of the columns: the keys of a JSON table of lists, or of the first row of a list of rows.
fn column_names(root: Node<'_>) -> Result<Vec<&str>, Error> {
    let keyed = match &root.value().kind {
        Kind::Array(_) => root.items()?.next(),
        _ => Some(root),
    };
    let Some(keyed) = keyed else {
        return Err(WRONG_TYPE.at(root.place(), "at least one row of numbers", "none"));
    };
    Ok(keyed.members()?.map(|(name, _)| name).collect())
}

/// The numbers of one column; a shorter column of a CSV ends in empty cells.
fn column(root: Node<'_>, name: &str) -> Result<Vec<WrittenNumber>, Error> {
    let cells: Vec<_> = match &root.value().kind {
        Kind::Array(_) => root.items()?.map(|row| row.required(name)).collect::<Result<_, _>>()?,
        _ => root.required(name)?.items()?.collect(),
    };
    let blank =
        |cell: &Node<'_>| matches!(&cell.value().kind, Kind::Text(text) if text.trim().is_empty());
    let end = cells.iter().rposition(|cell| !blank(cell)).map_or(0, |last| last + 1);
    let values: Vec<_> =
        cells.iter().take(end).map(|cell| number_in(*cell)).collect::<Result<_, _>>()?;
    if values.is_empty() {
        let found = format!("none in `{name}`");
        return Err(WRONG_TYPE.at(root.place(), "at least one number", found));
    }
    Ok(values)
}

/// A number of a file; only CSV writes them as text.
fn number_in(cell: Node<'_>) -> Result<WrittenNumber, Error> {
    let csv = cell.document().source.name().ends_with(".csv");
    let text = match &cell.value().kind {
        Kind::Text(text) if csv => text.trim().to_owned(),
        Kind::Number(text) => text.replace('_', ""),
        // The error names what is there.
        _ => cell.float()?.to_string(),
    };
    decimal(&text).map_err(|(expected, found)| WRONG_TYPE.at(cell.place(), expected, found))
}
