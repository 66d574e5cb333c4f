//! The verdicts of proposed statements, judged together as one post.

use crate::library::Library;
use crate::page::PostPage;
use crate::texts::TextsAtHand;
use crate::verify::judge_within;
use crate::work::Work;
use repro_core::source::{Document, Error, Source};
use repro_report::meaning::LintKind;
use repro_report::outcome::Verdict;

/// Reads the text of a post file.
pub fn parsed(id: &str, text: String) -> Result<PostPage, Vec<Error>> {
    let source = Source::new(format!("repro/{id}.toml"), text.into_bytes());
    let page = source.and_then(Document::parse_toml).and_then(PostPage::parse);
    page.map_err(|error| vec![error])
}

/// A post without statements in which others are tried.
#[derive(Debug, Clone, Copy)]
pub struct TriedPost<'t> {
    pub id: &'t str,
    /// Its text up to the first statement.
    pub head: &'t str,
    pub library: &'t Library,
    pub texts: &'t TextsAtHand,
    pub threads: usize,
    /// The work done for the draft.
    pub work: &'t Work,
}

/// So many bytes of statements are judged as one post.
const MOST_AT_ONCE: usize = 1 << 18;

impl TriedPost<'_> {
    /// The post with some statements.
    pub fn page(&self, statements: &str) -> Result<PostPage, Vec<Error>> {
        parsed(self.id, format!("{}\n{statements}", self.head))
    }

    /// The verdicts on the claims of each statement; none of one whose claims cannot be judged, and none once the work is
    /// spent. A statement names no id.
    pub fn verdicts(&self, statements: &[String]) -> Result<Vec<Vec<Verdict>>, Vec<Error>> {
        let mut verdicts = Vec::new();
        while verdicts.len() < statements.len() && !self.work.is_spent() {
            let left = &statements[verdicts.len()..];
            let mut length = 0;
            let fits = |statement: &&String| {
                length += statement.len();
                length <= MOST_AT_ONCE
            };
            let count = left.iter().take_while(fits).count().max(1);
            verdicts.extend(self.verdicts_of_one_post(&left[..count])?);
        }
        verdicts.resize(statements.len(), Vec::new());
        Ok(verdicts)
    }

    fn verdicts_of_one_post(&self, statements: &[String]) -> Result<Vec<Vec<Verdict>>, Vec<Error>> {
        let numbered = statements.iter().enumerate().map(|(number, statement)| {
            let (head, keys) = statement.split_once('\n').unwrap_or((statement, ""));
            format!("{head}\nid = \"d{number}\"\n{keys}")
        });
        let page = self.page(&numbered.collect::<String>())?;
        let work = Work::of_a_post();
        let judged = judge_within(&page, self.library, self.texts, self.threads, &work);
        self.work.looks_through(self.head);
        self.work.takes_as(&work);
        let mut verdicts = vec![Vec::new(); statements.len()];
        for claim in &judged.post.claims {
            let behind = claim.id.strip_prefix('d').unwrap_or_default();
            let digits = behind.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            let number = digits.parse::<usize>().ok();
            if let Some(own) = number.and_then(|number| verdicts.get_mut(number)) {
                // Words that do not fit the fact are no reading to propose; a spread may go without a name.
                let mut lints = claim.meaning.lints.iter();
                let does_not_fit = lints.any(|lint| lint.kind != LintKind::Statistic);
                own.push(match does_not_fit && claim.outcome.is_verified() {
                    true => Verdict::Inconclusive,
                    false => claim.outcome.verdict,
                });
            }
        }
        Ok(verdicts)
    }
}
