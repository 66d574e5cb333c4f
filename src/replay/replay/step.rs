//! The results of one step, in the order in which they are computed, and where two accounts of it diverge.
//!
//! The order is that of execution: routing and loss on the way forward, gradients from the loss back to
//! the tokens, their common norm, then the update of each tensor. So the first quantity that differs is
//! the one whose own computation differs, as far as its inputs were logged.

use repro_core::decimal::format_float;
use repro_model::replay::{Divergence, StepReport, ToleranceShare};

/// The significant digits of numbers that differ in them.
const DIGITS: usize = 9;

/// The result of a step, or its log; values that were not logged are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// The cross-entropy before the update.
    pub loss: Option<f64>,
    /// The norm of all gradients before clipping.
    pub norm: Option<f64>,
    /// The norm by which all gradients were scaled down, as far as it is known to be that one.
    pub clipped_by: Option<f64>,
    /// The norm of each tensor's gradient before clipping.
    pub gradients: Option<Vec<f64>>,
    /// How far each tensor moved in the step.
    pub updates: Option<Vec<f64>>,
    /// The norm of each tensor after the step.
    pub sizes: Option<Vec<f64>>,
    /// The first four bytes of the digest of each tensor after the step.
    pub digests: Option<Vec<u32>>,
    /// How far each tensor moved since the beginning of the slice; of its last step.
    pub moved: Option<Vec<f64>>,
    /// Of each layer that routes, the tokens that each expert was chosen for.
    pub routed: Option<Vec<Vec<u64>>>,
    /// Of each layer that routes, the tokens whose choice is one between equal scores, where that was looked at.
    pub undecided: Vec<u64>,
    /// The losses of its micro-batches, each before the update, and the norms of what they add to the gradients.
    pub micro_batches: [Option<Vec<f64>>; 2],
    /// How far norms of it may be off in float32, where that was looked at.
    pub narrow: Option<NarrowErrors>,
    /// Of each tensor the share that is rounding alone, by its gradients here and in another walk, where that was looked at.
    pub noise: Option<Vec<f64>>,
}

/// How far norms may be off that another program takes in float32, relative to them; of tensors in the order of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NarrowErrors {
    /// Of the gradients.
    pub gradients: Vec<f64>,
    /// Of all gradients together.
    pub norm: f64,
    /// Of that by which they are scaled down.
    pub clipped_by: f64,
    /// Of the updates.
    pub updates: Vec<f64>,
    /// Of the tensors.
    pub sizes: Vec<f64>,
    /// Of the way since the beginning of the slice.
    pub moved: Vec<f64>,
    /// Of what micro-batches add to the gradients.
    pub micro_batches: Vec<f64>,
}

/// One quantity of a step. Tensors and layers are given by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepQuantity {
    /// Where a layer sends its tokens.
    Routing(usize),
    /// The loss.
    Loss,
    /// The loss of a micro-batch.
    PartLoss(usize),
    /// The norm of what a micro-batch adds to all gradients.
    PartNorm(usize),
    /// The norm of a tensor's gradient.
    Gradient(usize),
    /// The norm of all gradients.
    Norm,
    /// The norm by which all gradients were scaled down.
    ClippedBy,
    /// How far a tensor moves.
    Update(usize),
    /// The norm of a tensor.
    Size(usize),
    /// The bits of a tensor.
    Bits(usize),
    /// How far a tensor moves in the whole slice.
    Moved(usize),
}

/// The tensors of a model as they are compared.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Their names, as the bundle has them, in the order of the log.
    pub names: Vec<String>,
    /// Their dimensions: rows and columns, or the length.
    pub shapes: Vec<Vec<usize>>,
    /// Their numbers in the order of the forward pass.
    pub forward: Vec<usize>,
    /// The router of each layer that routes.
    pub routers: Vec<String>,
    /// The group of the optimizer that moves each tensor; none where a rule does, or nothing.
    pub groups: Vec<Option<usize>>,
    /// The numbers of the micro-batches that are executed alone, where not all are.
    pub sampled: Vec<usize>,
}

impl StepQuantity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Routing(_) => "routing",
            Self::Loss => "loss",
            Self::PartLoss(_) => "loss of micro-batch",
            Self::PartNorm(_) => "gradient norm of micro-batch",
            Self::Gradient(_) => "gradient",
            Self::Norm => "gradient norm",
            Self::ClippedBy => "norm that gradients are clipped by",
            Self::Update(_) => "update",
            Self::Size(_) => "size",
            Self::Bits(_) => "bits",
            Self::Moved(_) => "update over the slice",
        }
    }

    /// The tensor that it is of.
    pub fn tensor(self, layout: &Layout) -> Option<String> {
        match self {
            Self::Routing(layer) => layout.routers.get(layer).cloned(),
            Self::PartLoss(at) | Self::PartNorm(at) => {
                layout.sampled.get(at).map(|number| (number + 1).to_string())
            }
            Self::Loss | Self::Norm | Self::ClippedBy => None,
            Self::Gradient(at)
            | Self::Update(at)
            | Self::Size(at)
            | Self::Bits(at)
            | Self::Moved(at) => layout.names.get(at).cloned(),
        }
    }

    /// The number of its tensor, where it is one of a tensor's numbers.
    pub fn tensor_number(self) -> Option<usize> {
        match self {
            Self::Gradient(at) | Self::Update(at) | Self::Size(at) | Self::Moved(at) => Some(at),
            Self::Routing(_) | Self::Loss | Self::Norm | Self::ClippedBy => None,
            Self::PartLoss(_) | Self::PartNorm(_) | Self::Bits(_) => None,
        }
    }

    /// It and its tensor.
    pub fn shown(self, layout: &Layout) -> String {
        match self.tensor(layout) {
            Some(number) if self.is_of_part() => format!("{} {number}", self.word()),
            Some(tensor) => format!("{} of `{tensor}`", self.word()),
            None => self.word().to_owned(),
        }
    }

    fn is_of_part(self) -> bool {
        matches!(self, Self::PartLoss(_) | Self::PartNorm(_))
    }

    /// Both accounts, with as many digits as it takes to tell them apart.
    fn printed(self, logged: &Step, made: &Step) -> (String, String) {
        let of = |step: &Step, digits| self.text(step, digits).unwrap_or_default();
        let short = (of(logged, Some(DIGITS)), of(made, Some(DIGITS)));
        if short.0 != short.1 { short } else { (of(logged, None), of(made, None)) }
    }

    fn text(self, step: &Step, digits: Option<usize>) -> Option<String> {
        match self {
            Self::Routing(layer) => Some(format!("{:?}", step.routed.as_ref()?.get(layer)?)),
            Self::Bits(at) => Some(format!("sha256 {:08x}…", step.digests.as_ref()?.get(at)?)),
            _ => {
                let number = self.number(step)?;
                Some(
                    digits
                        .map_or_else(|| number.to_string(), |digits| format_float(number, digits)),
                )
            }
        }
    }

    fn number(self, step: &Step) -> Option<f64> {
        let of = |list: &Option<Vec<f64>>, at: usize| list.as_ref()?.get(at).copied();
        let [losses, norms] = &step.micro_batches;
        match self {
            Self::Loss => step.loss,
            Self::PartLoss(at) => of(losses, at),
            Self::PartNorm(at) => of(norms, at),
            Self::Norm => step.norm,
            Self::ClippedBy => step.clipped_by,
            Self::Gradient(at) => of(&step.gradients, at),
            Self::Update(at) => of(&step.updates, at),
            Self::Size(at) => of(&step.sizes, at),
            Self::Moved(at) => of(&step.moved, at),
            Self::Routing(_) | Self::Bits(_) => None,
        }
    }

    /// How far another program's account of it may be off because it adds up in float32.
    pub fn narrow_error(self, step: &Step) -> f64 {
        let Some(narrow) = &step.narrow else { return 0.0 };
        let (list, at) = match self {
            Self::Norm => return narrow.norm,
            Self::ClippedBy => return narrow.clipped_by,
            Self::Gradient(at) => (&narrow.gradients, at),
            Self::Update(at) => (&narrow.updates, at),
            Self::Size(at) => (&narrow.sizes, at),
            Self::Moved(at) => (&narrow.moved, at),
            Self::PartNorm(at) => (&narrow.micro_batches, at),
            Self::Routing(_) | Self::Loss | Self::PartLoss(_) | Self::Bits(_) => return 0.0,
        };
        list.get(at).copied().unwrap_or_default()
    }

    /// How far two accounts are apart: tokens for a routing, 0 or 1 for bits, else the difference
    /// relative to the larger number. None where one of them does not have it, for which NaN stands in
    /// the first; infinite where the second is no number.
    pub fn deviation(self, a: &Step, b: &Step) -> Option<f64> {
        match self {
            Self::Routing(layer) => {
                let (a, b) = (a.routed.as_ref()?.get(layer)?, b.routed.as_ref()?.get(layer)?);
                Some(flips(a, b) as f64)
            }
            Self::Bits(at) => {
                let (a, b) = (a.digests.as_ref()?.get(at)?, b.digests.as_ref()?.get(at)?);
                Some(if a == b { 0.0 } else { 1.0 })
            }
            _ => {
                let (a, b) = (self.number(a).filter(|a| !a.is_nan())?, self.number(b)?);
                let apart = (a - b).abs() / a.abs().max(b.abs());
                Some(if a == b {
                    0.0
                } else if apart.is_nan() {
                    f64::INFINITY
                } else {
                    apart
                })
            }
        }
    }
}

/// How many tokens were at least routed elsewhere.
fn flips(a: &[u64], b: &[u64]) -> u64 {
    if a.len() != b.len() {
        return u64::MAX;
    }
    // What one expert loses another gains.
    std::iter::zip(a, b).map(|(a, b)| a.abs_diff(*b)).sum::<u64>().div_ceil(2)
}

impl Step {
    /// Whether it says something of a tensor, beside its gradient.
    pub fn tells_of(&self, tensor: usize) -> bool {
        let numbers =
            [StepQuantity::Update(tensor), StepQuantity::Size(tensor), StepQuantity::Moved(tensor)];
        let number =
            |quantity: StepQuantity| quantity.number(self).is_some_and(|number| !number.is_nan());
        let digest = self.digests.as_ref().is_some_and(|digests| tensor < digests.len());
        digest || numbers.into_iter().any(number)
    }

    /// It with the numbers of these micro-batches; with none where all are executed together.
    pub fn of_micro_batches(self, numbers: Option<&[usize]>) -> Self {
        let of = |all: &Vec<f64>, numbers: &[usize]| {
            numbers.iter().map(|number| all.get(*number).copied().unwrap_or(f64::NAN)).collect()
        };
        let some = |all: &Option<Vec<f64>>| all.as_ref().zip(numbers).map(|(all, n)| of(all, n));
        Self { micro_batches: self.micro_batches.each_ref().map(some), ..self }
    }

    /// The loss and norm of step `number` as logged here and as they came out.
    pub fn report(&self, number: u64, made: &Self) -> StepReport {
        let routes = |made: &Self| made.routed.as_ref().is_some_and(|layers| !layers.is_empty());
        StepReport {
            step: number,
            logged: self.loss,
            replayed: made.loss.unwrap_or(f64::NAN),
            logged_norm: self.norm,
            replayed_norm: made.norm.unwrap_or(f64::NAN),
            flips: self.flips(made).filter(|_| routes(made)),
        }
    }

    /// How many tokens were at least routed elsewhere, over all layers; none where one has no routing.
    pub fn flips(&self, other: &Self) -> Option<u64> {
        let (ours, theirs) = (self.routed.as_ref()?, other.routed.as_ref()?);
        Some(std::iter::zip(ours, theirs).map(|(a, b)| flips(a, b)).sum())
    }
}

impl Layout {
    /// Whether no learning rate moves a tensor.
    pub fn rests(&self, tensor: usize) -> bool {
        self.groups.get(tensor).copied().flatten().is_none()
    }

    /// The quantities that a log may have of a step, in the order of execution.
    pub fn quantities(&self) -> Vec<StepQuantity> {
        let routing = (0..self.routers.len()).map(StepQuantity::Routing);
        let gradients = self.forward.iter().rev().map(|at| StepQuantity::Gradient(*at));
        let updates = self.forward.iter().flat_map(|at| {
            [
                StepQuantity::Update(*at),
                StepQuantity::Size(*at),
                StepQuantity::Bits(*at),
                StepQuantity::Moved(*at),
            ]
        });
        let parts = |of: fn(usize) -> StepQuantity| (0..self.sampled.len()).map(of);
        let loss = std::iter::once(StepQuantity::Loss)
            .chain(parts(StepQuantity::PartLoss))
            .chain(parts(StepQuantity::PartNorm));
        let norms = [StepQuantity::Norm, StepQuantity::ClippedBy];
        routing.chain(loss).chain(gradients).chain(norms).chain(updates).collect()
    }

    /// Where the account of step `number` (as records count) that came out parts from the logged one: the
    /// first quantity beyond its tolerance. `first` says that the slice begins with this step.
    pub fn divergence(
        &self,
        (number, first): (u64, bool),
        logged: &Step,
        made: &Step,
        tolerance: impl Fn(StepQuantity) -> f64,
    ) -> Option<Divergence> {
        let beyond = |quantity: &StepQuantity| {
            quantity.deviation(logged, made).is_some_and(|apart| apart > tolerance(*quantity))
        };
        let quantity = self.quantities().into_iter().find(beyond)?;
        let difference = match quantity {
            StepQuantity::Routing(_) | StepQuantity::Bits(_) => None,
            _ => quantity.deviation(logged, made).map(|apart| (apart, tolerance(quantity))),
        };
        let (logged_text, replayed) = quantity.printed(logged, made);
        Some(Divergence {
            step: number,
            what: quantity.word(),
            tensor: quantity.tensor(self),
            logged: logged_text,
            replayed,
            difference,
            inputs_matched: self.inputs(quantity, first, logged),
            hint: hint(quantity, first).to_owned(),
        })
    }

    /// Of each kind of number the largest share of its tolerance that a difference takes in step `number`, in the order in
    /// which they are compared.
    pub fn shares(
        &self,
        number: u64,
        logged: &Step,
        made: &Step,
        tolerance: impl Fn(StepQuantity) -> f64,
    ) -> Vec<ToleranceShare> {
        let mut largest: Vec<(StepQuantity, f64)> = Vec::new();
        for quantity in self.quantities() {
            let allowed = tolerance(quantity);
            let apart = quantity.deviation(logged, made).filter(|_| allowed > 0.0);
            let Some(share) = apart.map(|apart| apart / allowed) else { continue };
            match largest.iter_mut().find(|(known, _)| known.word() == quantity.word()) {
                Some(known) if share > known.1 => *known = (quantity, share),
                Some(_) => {}
                None => largest.push((quantity, share)),
            }
        }
        let report = |(quantity, share): (StepQuantity, f64)| ToleranceShare {
            step: number,
            kind: quantity.word(),
            what: quantity.shown(self),
            share,
        };
        largest.into_iter().map(report).collect()
    }

    /// Whether what goes into a quantity was logged, and so is known to have matched.
    fn inputs(&self, quantity: StepQuantity, first: bool, logged: &Step) -> Option<bool> {
        // Before the first step there is the start itself; later, what the step before left.
        let weights = first || logged.digests.is_some() || logged.sizes.is_some();
        let forward = logged.loss.is_some();
        let known = match quantity {
            StepQuantity::Routing(_) | StepQuantity::Loss | StepQuantity::PartLoss(_) => weights,
            StepQuantity::PartNorm(_) => weights && logged.micro_batches[0].is_some(),
            StepQuantity::Gradient(_) => weights && forward,
            StepQuantity::Norm
            | StepQuantity::ClippedBy
            | StepQuantity::Update(_)
            | StepQuantity::Size(_)
            | StepQuantity::Bits(_) => weights && forward && logged.gradients.is_some(),
            StepQuantity::Moved(_) => logged.updates.is_some() || logged.digests.is_some(),
        };
        known.then_some(true)
    }
}

/// Where to look when a quantity is the first that differs.
fn hint(quantity: StepQuantity, first: bool) -> &'static str {
    match quantity {
        StepQuantity::Routing(_) | StepQuantity::Loss if first => {
            "the step used a different batch, weights or model than the slice contains"
        }
        StepQuantity::Routing(_) | StepQuantity::Loss => {
            "the step used a different batch than the slice contains, or the inputs of its routing and \
             loss changed between the steps"
        }
        StepQuantity::PartLoss(_) => "the micro-batch or the weights differ from the slice",
        StepQuantity::PartNorm(_) => {
            "the loss of the micro-batch matches: check what is added to it, its weight in the step, and the \
             backward pass"
        }
        StepQuantity::Gradient(_) => {
            "the loss and the gradients of later layers match: check what is added to the loss, \
             how micro-batches are weighted, and the backward pass into this tensor"
        }
        StepQuantity::Norm => {
            "each tensor's gradient matches: the norm was taken over different tensors, or after clipping"
        }
        StepQuantity::ClippedBy => {
            "the gradients and their norm match: clipping used a different norm"
        }
        StepQuantity::Update(_) | StepQuantity::Bits(_) | StepQuantity::Size(_) => {
            "the gradients match: check the optimizer (learning rate, weight decay, betas, step count, moments)"
        }
        StepQuantity::Moved(_) => {
            "each step's update matches: the sum over the slice was computed from something else"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let names = ["head", "tokens", "router"].map(str::to_owned).to_vec();
        Layout {
            names,
            shapes: vec![vec![2, 2]; 3],
            forward: vec![1, 2, 0],
            routers: vec!["router".to_owned()],
            groups: vec![Some(0); 3],
            sampled: Vec::new(),
        }
    }

    fn step() -> Step {
        Step {
            loss: Some(2.0),
            norm: Some(1.0),
            gradients: Some(vec![0.5, 0.25, 0.125]),
            updates: Some(vec![0.1, 0.2, 0.3]),
            routed: Some(vec![vec![5, 3, 8]]),
            ..Step::default()
        }
    }

    #[test]
    fn the_first_quantity_in_the_order_of_execution_is_named() {
        let (layout, logged) = (layout(), step());
        let exact = |_| 0.0;
        assert_eq!(layout.divergence((1, true), &logged, &step(), exact), None);
        let mut made = step();
        made.updates = Some(vec![0.1, 0.2, 0.4]);
        let found = layout.divergence((1, true), &logged, &made, exact).unwrap();
        assert_eq!((found.what, found.tensor.as_deref()), ("update", Some("router")));
        assert_eq!(found.inputs_matched, Some(true));
        // Gradients run from the loss to the tokens: the head comes first.
        made.gradients = Some(vec![0.6, 0.3, 0.125]);
        let found = layout.divergence((1, true), &logged, &made, exact).unwrap();
        assert_eq!((found.what, found.tensor.as_deref()), ("gradient", Some("head")));
        made.loss = Some(2.5);
        assert_eq!(layout.divergence((1, true), &logged, &made, exact).unwrap().what, "loss");
        made.routed = Some(vec![vec![6, 2, 8]]);
        let found = layout.divergence((7, false), &logged, &made, exact).unwrap();
        assert_eq!((found.what, found.step, &*found.logged), ("routing", 7, "[5, 3, 8]"));
        assert_eq!(found.inputs_matched, None, "no log of the weights that the step began with");
    }

    #[test]
    fn deviations_are_relative_and_no_number_is_far_from_all() {
        let mut made = step();
        made.loss = Some(2.5);
        assert_eq!(StepQuantity::Loss.deviation(&step(), &made), Some(0.2));
        made.loss = Some(f64::NAN);
        assert_eq!(StepQuantity::Loss.deviation(&step(), &made), Some(f64::INFINITY));
        made.loss = None;
        assert_eq!(StepQuantity::Loss.deviation(&step(), &made), None);
        made.routed = Some(vec![vec![6, 2, 8]]);
        assert_eq!(step().flips(&made), Some(1));
        assert_eq!(StepQuantity::Routing(0).deviation(&step(), &made), Some(1.0));
        made.gradients = Some(vec![0.0; 3]);
        assert_eq!(StepQuantity::Gradient(1).deviation(&made, &made.clone()), Some(0.0));
    }

    #[test]
    fn what_was_not_logged_is_not_compared() {
        let logged = Step { loss: Some(2.0), ..Step::default() };
        let mut made = step();
        made.updates = None;
        made.norm = Some(9.0);
        assert_eq!(layout().divergence((1, true), &logged, &made, |_| 0.0), None);
    }
}
