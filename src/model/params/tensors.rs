//! The named list of tensors in a checkpoint of a family, stored as patterns: 45,000 expert matrices are three rows.

use std::sync::Arc;

use super::{Part, Size, Sums};

/// The layers of a model that are of one kind.
#[derive(Debug, Clone)]
pub struct LayerSet(Arc<[bool]>);

impl LayerSet {
    /// The number of layers in the set.
    pub fn count(&self) -> Size {
        Size::from(self.0.iter().filter(|&&within| within).count() as u64)
    }

    /// Whether a layer is among them.
    pub fn contains(&self, layer: u64) -> bool {
        usize::try_from(layer).is_ok_and(|layer| self.0.get(layer) == Some(&true))
    }

    /// Those that are in `other`, too.
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(other.0.iter()).map(|(a, b)| *a && *b).collect())
    }

    /// The other layers.
    pub fn others(&self) -> Self {
        Self(self.0.iter().map(|within| !within).collect())
    }
}

/// Which layers have routed experts.
#[derive(Debug, Clone)]
pub struct Layers {
    sparse: Vec<bool>,
    /// The number of the first layer: multi-token prediction layers follow those of the model.
    first: usize,
}

impl Layers {
    /// `count` layers; `sparse` decides which of them are sparse.
    pub fn new(count: u64, sparse: impl Fn(u64) -> bool) -> Self {
        Self { sparse: (0..count).map(sparse).collect(), first: 0 }
    }

    /// The same layers, numbered after those of `others`.
    pub fn after(self, others: &Layers) -> Self {
        Self { first: others.sparse.len(), ..self }
    }

    /// The layers selected by `within`.
    pub fn set(&self, within: impl Fn(u64) -> bool) -> LayerSet {
        LayerSet((0..self.sparse.len() as u64).map(within).collect())
    }

    /// Those with routed experts.
    pub fn sparse_set(&self) -> LayerSet {
        LayerSet(self.sparse.iter().copied().collect())
    }

    /// The number of layers.
    pub fn all(&self) -> Size {
        Size::from(self.sparse.len() as u64)
    }

    /// The number of layers with routed experts.
    pub fn sparse(&self) -> Size {
        Size::from(self.sparse.iter().filter(|&&sparse| sparse).count() as u64)
    }

    /// The number of layers without routed experts.
    pub fn dense(&self) -> Size {
        self.all() - self.sparse()
    }

    /// The numbers of the layers, among those in `set` or all, that contain `part`.
    fn with<'a>(
        &'a self,
        part: Part,
        set: Option<&'a LayerSet>,
    ) -> impl Iterator<Item = usize> + 'a {
        let stands = move |sparse: bool| match part {
            Part::DenseFfn => !sparse,
            Part::Router | Part::RoutedExperts | Part::SharedExperts => sparse,
            _ => true,
        };
        let within = move |at: usize| set.is_none_or(|set| set.0.get(at) == Some(&true));
        let layers = self.sparse.iter().enumerate();
        layers
            .filter(move |(at, sparse)| stands(**sparse) && within(*at))
            .map(move |(at, _)| self.first + at)
    }
}

/// A tensor of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name in the file.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// The part that it belongs to.
    pub part: Part,
}

/// Tensors with names that differ in a number: `{layer}` runs over the layers of the part, `{copy}` over `copies`.
#[derive(Debug, Clone)]
struct Row {
    name: String,
    shape: Vec<Size>,
    copies: Size,
    part: Part,
    /// None means all layers.
    within: Option<LayerSet>,
}

/// The tensors of one model.
#[derive(Debug, Clone)]
pub struct TensorList {
    layers: Layers,
    /// E and K of the routed experts.
    experts: (Size, Size),
    /// The layers of the rows that are being added.
    within: Option<LayerSet>,
    rows: Vec<Row>,
}

impl TensorList {
    /// An empty list for a model with these layers and no experts.
    pub fn new(layers: &Layers) -> Self {
        let experts = (1.into(), 1.into());
        Self { layers: layers.clone(), experts, within: None, rows: Vec::new() }
    }

    /// Restricts the rows that `add` adds to the layers of `set`.
    pub fn within(&mut self, set: &LayerSet, add: impl FnOnce(&mut Self)) {
        self.within = Some(set.clone());
        add(self);
        self.within = None;
    }

    /// The same list for `experts` routed experts per layer, of which a token uses `used`.
    pub fn with_experts(mut self, experts: Size, used: Size) -> Self {
        self.experts = (experts, used);
        self
    }

    /// Adds the rows of `other`, none of which belongs to the layers of this model.
    pub fn add_beside(&mut self, other: TensorList) {
        self.rows.extend(other.rows);
    }

    /// Adds one tensor.
    pub fn tensor(&mut self, part: Part, name: &str, shape: &[Size]) {
        self.copied(part, name, 1.into(), shape);
    }

    /// Adds one tensor for each of `copies` values of `{copy}`.
    pub fn copied(&mut self, part: Part, name: &str, copies: Size, shape: &[Size]) {
        let (name, shape, within) = (name.to_owned(), shape.to_vec(), self.within.clone());
        self.rows.push(Row { name, shape, copies, part, within });
    }

    /// Adds the `.weight`, out × in, of a linear map and its `.bias` if it has one.
    pub fn linear(&mut self, part: Part, name: &str, output: Size, input: Size, bias: bool) {
        self.copied_linear(part, name, 1.into(), (output, input), bias);
    }

    /// Adds a linear map for each of `copies` values of `{copy}`.
    pub fn copied_linear(
        &mut self,
        part: Part,
        name: &str,
        copies: Size,
        (output, input): (Size, Size),
        bias: bool,
    ) {
        self.copied(part, &format!("{name}.weight"), copies, &[output, input]);
        if bias {
            self.copied(part, &format!("{name}.bias"), copies, &[output]);
        }
    }

    /// Adds a normalization weight, and its bias if it has one.
    pub fn norm(&mut self, name: &str, width: Size, bias: bool) {
        self.tensor(Part::Norms, &format!("{name}.weight"), &[width]);
        if bias {
            self.tensor(Part::Norms, &format!("{name}.bias"), &[width]);
        }
    }

    /// The sum of their elements by part.
    pub fn sums(&self) -> Sums {
        let (experts, used) = self.experts;
        self.rows.iter().fold(Sums::NONE, |sums, row| {
            let one = row.shape.iter().fold(row.copies, |product, &size| product * size);
            let places = match row.name.contains("{layer}") {
                true => Size::from(self.layers.with(row.part, row.within.as_ref()).count() as u64),
                false => 1.into(),
            };
            let total = one * places;
            match row.part {
                Part::RoutedExperts => {
                    // Whether stacked in one tensor or one tensor each, E experts share the row.
                    let each = one.split(experts).map_or(one, |each| each * places);
                    sums.routed(each, experts, used)
                }
                part => sums.plus(part, total, total),
            }
        })
    }

    /// All tensors, one by one; sizes beyond `u64` have been rejected before.
    pub fn iter(&self) -> impl Iterator<Item = Tensor> + '_ {
        self.rows.iter().flat_map(move |row| {
            let layers: Box<dyn Iterator<Item = Option<usize>>> = match row.name.contains("{layer}")
            {
                true => Box::new(self.layers.with(row.part, row.within.as_ref()).map(Some)),
                false => Box::new(std::iter::once(None)),
            };
            layers.flat_map(move |layer| {
                (0..row.copies.value().unwrap_or(0)).map(move |copy| row.tensor(layer, copy))
            })
        })
    }
}

impl Row {
    fn tensor(&self, layer: Option<usize>, copy: u64) -> Tensor {
        let mut name = self.name.clone();
        if let Some(layer) = layer {
            name = name.replacen("{layer}", &layer.to_string(), 1);
        }
        if name.contains("{copy}") {
            name = name.replacen("{copy}", &copy.to_string(), 1);
        }
        let shape = self.shape.iter().filter_map(|size| size.value()).collect();
        Tensor { name, shape, part: self.part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_unfold_into_the_names_of_a_checkpoint() {
        let layers = Layers::new(3, |layer| layer > 0);
        let mut tensors = TensorList::new(&layers).with_experts(4.into(), 1.into());
        tensors.linear(Part::DenseFfn, "l.{layer}.up", 2.into(), 3.into(), true);
        tensors.copied_linear(
            Part::RoutedExperts,
            "l.{layer}.e.{copy}",
            4.into(),
            (2.into(), 3.into()),
            false,
        );
        let names: Vec<_> = tensors.iter().map(|tensor| tensor.name).collect();
        assert_eq!(names[..3], ["l.0.up.weight", "l.0.up.bias", "l.1.e.0.weight"]);
        assert_eq!((names.len(), names[9].as_str()), (10, "l.2.e.3.weight"));
        let breakdown = tensors.sums().finish().unwrap();
        assert_eq!(breakdown.part(Part::DenseFfn).total, 8);
        let routed = breakdown.part(Part::RoutedExperts);
        assert_eq!((routed.total, routed.active), (48, 12));
        let listed: u64 = tensors.iter().map(|tensor| tensor.shape.iter().product::<u64>()).sum();
        assert_eq!(listed, 56);
    }
}
