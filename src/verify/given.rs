//! The values of expressions on the bundles of a post, whether or not a statement uses them: for whoever looks for the expression of a
//! printed number.

use repro_core::decimal::nearest_f64;
use repro_core::parallel;
use repro_core::source::{Document, Error, Node, Source};

use crate::context::PostContext;
use crate::evaluate::{Evaluator, Frame, Variables};
use crate::library::Library;
use crate::page::{PlacedExpression, PostPage};
use crate::texts::TextsAtHand;
use crate::value::Quantity;
use crate::work::Work;

/// A number that an expression gives, in units of one: the ends between which it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GivenNumber {
    /// The low end.
    pub low: f64,
    /// The high end.
    pub high: f64,
}

/// So many expressions are evaluated between two looks at the work: which of them are depends on no number of threads.
const AT_ONCE: usize = 1024;

/// The numbers that each expression gives, in the order of `expressions`: one, several of a list, or none if it has no value.
/// Of the last there are none at all once the work is spent.
pub fn given(
    page: &PostPage,
    library: &Library,
    expressions: &[String],
    threads: usize,
    work: &Work,
) -> Result<Vec<Vec<GivenNumber>>, Error> {
    let texts = TextsAtHand::new();
    let mut all = Vec::new();
    for some in expressions.chunks(AT_ONCE) {
        let own = Work::of_a_post();
        let context = PostContext::new(page, library, &texts, &own);
        let json = serde_json::Value::from(some.to_vec()).to_string();
        let document = Document::parse_json(Source::new("expressions", json.into_bytes())?)?;
        let nodes: Vec<_> = document.root().items()?.collect();
        let one = |node: &_| numbers(&context, *node).unwrap_or_default();
        let numbers = parallel::map(&nodes, threads, one);
        work.takes_as(&own);
        if work.is_spent() {
            break;
        }
        all.extend(numbers);
    }
    Ok(all)
}

fn numbers(context: &PostContext<'_>, node: Node<'_>) -> Result<Vec<GivenNumber>, Error> {
    let placed = PlacedExpression::read(node)?;
    let evaluator = Evaluator::new(context, Vec::new());
    let variables = Variables::new();
    let frame = Frame::of(&evaluator, &placed, &variables);
    let parts = frame.parts(frame.evaluate()?)?;
    let ends = |number: Quantity| {
        let ends = &number.interval;
        GivenNumber { low: nearest_f64(ends.low()), high: nearest_f64(ends.high()) }
    };
    Ok(parts.into_iter().map(ends).collect())
}
