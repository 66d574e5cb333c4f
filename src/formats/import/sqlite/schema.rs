//! Parses the columns of a table from its `CREATE TABLE` statement.

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlTable {
    /// The root page of its tree.
    pub root: u32,
    /// Its columns, in order.
    pub columns: Vec<String>,
}

impl SqlTable {
    /// Parses a `CREATE TABLE` statement; none for tables without a tree of rows.
    pub fn of(sql: &str, root: u32) -> Option<Self> {
        let open = sql.find('(')?;
        let (before, inside) = sql.split_at_checked(open)?;
        let (inside, after) = body(inside)?;
        let upper = |text: &str| text.to_ascii_uppercase();
        if upper(before).contains("VIRTUAL") || upper(after).contains("WITHOUT") {
            return None;
        }
        let columns = inside.into_iter().filter_map(column).collect();
        Some(Self { root, columns })
    }
}

/// The comma-separated parts inside the first parentheses of `text`, and the rest after them.
fn body(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut depth, mut quote, mut start, mut parts) = (0_usize, None, 1, Vec::new());
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(end), c) => quote = (c != end).then_some(end),
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '[') => quote = Some(']'),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    parts.push(text.get(start..at)?);
                    return Some((parts, text.get(at + 1..)?));
                }
            }
            (None, ',') if depth == 1 => {
                parts.push(text.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The column name that a part defines; none for a constraint.
fn column(part: &str) -> Option<String> {
    const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
    let part = part.trim_start();
    let first = part.chars().next()?;
    let end = match first {
        '"' | '`' | '\'' => first,
        '[' => ']',
        _ => {
            let name = part.split(|c: char| c.is_whitespace() || c == '(').next()?;
            let is_constraint = CONSTRAINTS.iter().any(|word| word.eq_ignore_ascii_case(name));
            return (!is_constraint).then(|| name.to_owned());
        }
    };
    part.get(1..)?.split(end).next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_from_the_statement() {
        let sql = "CREATE TABLE \"metrics\" (\n key VARCHAR(250) NOT NULL, value FLOAT DEFAULT '1,5', `run id` TEXT,\n \
                   step BIGINT DEFAULT '0' NOT NULL, CONSTRAINT pk PRIMARY KEY (key, step), CHECK (is_nan IN (0, 1)), [a b] INT)";
        let table = SqlTable::of(sql, 5).unwrap();
        assert_eq!(table.columns, ["key", "value", "run id", "step", "a b"]);
        for sql in [
            "CREATE TABLE a",
            "CREATE TABLE a (b",
            "CREATE VIRTUAL TABLE a USING fts5(b)",
            "CREATE TABLE a (b) WITHOUT ROWID",
        ] {
            assert_eq!(SqlTable::of(sql, 5), None, "{sql}");
        }
    }
}
