//! Mixtures: what a router chooses, and the tokens of experts in their order.

use super::handle::{Device, int, long};
use super::table::{DeviceTable, TablePart};
use super::text::ITEMS;
use super::update::Narrowing;
use crate::portable::rounding::Rounding;
use crate::portable::router::{Coefficients, Gate, Router, TOKENS};

/// Slots that one item puts in their places.
const SLOTS: usize = 256;

/// The choices of a router.
#[derive(Debug)]
pub struct Chosen {
    router: Router,
    tokens: usize,
    logits: DeviceTable<f32>,
    scores: DeviceTable<f32>,
    sizes: DeviceTable<f32>,
    totals: DeviceTable<f32>,
    /// Of each token, whether its choice is one between equal scores.
    ties: DeviceTable<i32>,
    /// The experts of each token, rising.
    pub experts: DeviceTable<u32>,
    /// The weight of each of them.
    pub gates: DeviceTable<f32>,
    /// Sums over parts of the tokens: of each expert's share, and then of squares and of ties.
    parts: DeviceTable<f64>,
    /// The contribution of the loss of uneven loads to the gradient of each score, if it does not come from these choices alone.
    uneven: Option<DeviceTable<f32>>,
}

/// The result of the choices of some tokens, as [`crate::portable::router::Routing`] has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenSums {
    /// Tokens of each expert.
    pub counts: Vec<u64>,
    /// The sum over tokens of each expert's share of the scores.
    pub shares: Vec<f64>,
    /// The sum over tokens of the squared logarithm of the exponentials' sum.
    pub squares: f64,
    /// Tokens whose choice is one between equal scores.
    pub undecided: u64,
}

/// The rows of a table of all choices: those of expert 0 in the order of tokens, then those of expert 1, and so on.
#[derive(Debug)]
pub struct Arranged {
    pub(super) experts: usize,
    per_token: usize,
    pub(super) offsets: DeviceTable<i32>,
    /// The work of groups of products.
    pub(super) tiles: DeviceTable<i32>,
    slot_rows: DeviceTable<i32>,
    row_tokens: DeviceTable<i32>,
}

/// The places of each token in a batch.
#[derive(Debug)]
pub struct PlacesOfTokens {
    names: DeviceTable<i32>,
    places: DeviceTable<i32>,
    /// Different tokens.
    count: usize,
}

impl Arranged {
    /// Rows of the table.
    pub fn rows(&self) -> usize {
        self.slot_rows.len()
    }

    /// Tiles that rows of experts can come to at most.
    pub(super) fn most_tiles(&self, device: &Device) -> usize {
        most_tiles(self.rows(), self.experts, device)
    }
}

fn most_tiles(rows: usize, experts: usize, device: &Device) -> usize {
    rows / device.products().tall + experts.min(rows)
}

impl Device {
    /// Chooses experts ([`Router::choose`]).
    pub fn choose(&self, router: Router, logits: DeviceTable<f32>, bias: Option<&[f32]>) -> Chosen {
        let Router { gate, experts, per_token, normalized } = router;
        let tokens = logits.len() / experts;
        let (mut left, mut taken) =
            (self.table::<f32>(logits.len()), self.table::<i32>(logits.len()));
        let own_bias = self.upload(bias.unwrap_or_default());
        let parts = tokens.div_ceil(TOKENS);
        let mut chosen = Chosen {
            router,
            tokens,
            scores: self.table(logits.len()),
            sizes: self.table(tokens),
            totals: self.table(tokens),
            ties: self.table(tokens),
            experts: self.table(tokens * per_token),
            gates: self.table(tokens * per_token),
            parts: self.table(parts * (experts + 2)),
            uneven: None,
            logits,
        };
        self.launch_each(
            "choose",
            tokens,
            &[
                (&chosen.logits).into(),
                (&own_bias).into(),
                i32::from(bias.is_some()).into(),
                (&mut chosen.scores).into(),
                (&mut chosen.sizes).into(),
                (&mut chosen.totals).into(),
                (&mut chosen.ties).into(),
                (&mut chosen.experts).into(),
                (&mut chosen.gates).into(),
                (&mut left).into(),
                (&mut taken).into(),
                int(tokens).into(),
                int(experts).into(),
                int(per_token).into(),
                gate_number(gate).into(),
                i32::from(normalized).into(),
            ],
        );
        self.launch(
            "router_sums",
            [parts, (experts + 2).div_ceil(ITEMS), 1],
            &[
                (&chosen.scores).into(),
                (&chosen.sizes).into(),
                (&chosen.totals).into(),
                (&chosen.ties).into(),
                (&mut chosen.parts).into(),
                int(tokens).into(),
                int(experts).into(),
            ],
        );
        chosen
    }

    /// The result of the choices; this waits for the device.
    pub fn chosen_sums(&self, chosen: &Chosen, arranged: &Arranged) -> ChosenSums {
        let experts = chosen.router.experts;
        let (parts, offsets) = (chosen.parts.read_all(), arranged.offsets.read_all());
        let (mut shares, mut squares, mut undecided) = (vec![0.0; experts], 0.0, 0);
        for part in parts.chunks_exact(experts + 2) {
            let (of_experts, rest) = part.split_at(experts);
            shares.iter_mut().zip(of_experts).for_each(|(sum, share)| *sum += share);
            squares += rest[0];
            undecided += rest[1] as u64;
        }
        let counts = offsets.windows(2).map(|pair| u64::try_from(pair[1] - pair[0]).unwrap_or(0));
        ChosenSums { counts: counts.collect(), shares, squares, undecided }
    }

    /// The gradient of the logits, from those of the gates in the order of the rows
    /// ([`crate::portable::router::Routing::backward`]).
    pub fn choose_back(
        &self,
        (chosen, arranged): (&Chosen, &Arranged),
        losses: Coefficients,
        g_rows: &DeviceTable<f32>,
        into: &mut DeviceTable<f32>,
    ) {
        let Router { gate, experts, per_token, normalized } = chosen.router;
        let mut own = self.table(experts);
        let uneven = match &chosen.uneven {
            Some(uneven) => uneven,
            None => {
                self.uneven(chosen, arranged, losses.balance, &mut own);
                &own
            }
        };
        self.launch_each(
            "choose_back",
            chosen.tokens,
            &[
                (&chosen.logits).into(),
                (&chosen.scores).into(),
                (&chosen.sizes).into(),
                (&chosen.totals).into(),
                (&chosen.experts).into(),
                (&chosen.gates).into(),
                g_rows.into(),
                (&arranged.slot_rows).into(),
                uneven.into(),
                into.into(),
                int(chosen.tokens).into(),
                int(experts).into(),
                int(per_token).into(),
                gate_number(gate).into(),
                i32::from(normalized).into(),
                ((2.0 * losses.z / chosen.tokens as f64) as f32).into(),
            ],
        );
    }

    fn uneven(
        &self,
        chosen: &Chosen,
        arranged: &Arranged,
        balance: f64,
        into: &mut DeviceTable<f32>,
    ) {
        let Router { experts, per_token, .. } = chosen.router;
        self.launch_each(
            "uneven",
            experts,
            &[
                (&arranged.offsets).into(),
                into.into(),
                int(chosen.tokens).into(),
                int(experts).into(),
                int(per_token).into(),
                balance.into(),
            ],
        );
    }

    /// Takes the balance loss over several layers at once, with this factor
    /// ([`crate::portable::router::Routing::balance_jointly`]).
    pub fn balance_jointly(
        &self,
        chosen: &mut Chosen,
        counts: &[u64],
        layers: usize,
        balance: f64,
    ) {
        let (experts, tokens) = (chosen.router.experts as f64, chosen.tokens as f64);
        let part = |count: &u64| *count as f64 / (layers as f64 * tokens) / layers as f64;
        let uneven = |count: &u64| (balance * experts * part(count) / tokens) as f32;
        chosen.uneven = Some(self.upload(&counts.iter().map(uneven).collect::<Vec<_>>()));
    }

    /// Arranges tokens by their experts ([`crate::portable::mixture::Arrangement`]).
    pub fn arrange(&self, experts: usize, per_token: usize, chosen: &DeviceTable<u32>) -> Arranged {
        let slots = chosen.len();
        let parts = slots.div_ceil(SLOTS);
        let most = most_tiles(slots, experts, self);
        let mut starts = self.table::<i32>(parts * experts);
        let mut arranged = Arranged {
            experts,
            per_token,
            offsets: self.table(experts + 1),
            tiles: self.table(3 * most),
            slot_rows: self.table(slots),
            row_tokens: self.table(slots),
        };
        let groups = [parts, experts.div_ceil(ITEMS), 1];
        self.launch(
            "count_choices",
            groups,
            &[chosen.into(), (&mut starts).into(), int(slots).into(), int(experts).into()],
        );
        self.launch(
            "arrange_experts",
            [1, 1, 1],
            &[
                (&mut starts).into(),
                (&mut arranged.offsets).into(),
                (&mut arranged.tiles).into(),
                int(parts).into(),
                int(experts).into(),
                int(most).into(),
            ],
        );
        self.launch(
            "arrange",
            groups,
            &[
                chosen.into(),
                (&starts).into(),
                (&mut arranged.slot_rows).into(),
                (&mut arranged.row_tokens).into(),
                int(slots).into(),
                int(experts).into(),
                int(per_token).into(),
            ],
        );
        arranged
    }

    /// The values of slots in the order of the rows.
    pub fn to_rows(&self, arranged: &Arranged, slots: &DeviceTable<f32>) -> DeviceTable<f32> {
        let mut rows = self.table(slots.len());
        self.launch_each(
            "to_rows",
            slots.len(),
            &[
                slots.into(),
                (&arranged.slot_rows).into(),
                (&mut rows).into(),
                int(slots.len()).into(),
            ],
        );
        rows
    }

    /// The rows of tokens in the order of the experts' table.
    pub fn rows_of_experts(
        &self,
        arranged: &Arranged,
        of: &DeviceTable<f32>,
        width: usize,
    ) -> DeviceTable<f32> {
        let mut into = self.table(arranged.rows() * width);
        self.gather(of.from(0), &arranged.row_tokens, &mut into, width);
        into
    }

    /// Adds to each token's row the sum of its rows of the table ([`crate::portable::mixture::Arrangement::add`]).
    pub fn add_experts(
        &self,
        arranged: &Arranged,
        table: &DeviceTable<f32>,
        into: &mut DeviceTable<f32>,
        width: usize,
    ) {
        self.launch_each(
            "add_experts",
            into.len(),
            &[
                table.into(),
                (&arranged.slot_rows).into(),
                into.into(),
                long(into.len() / width.max(1)).into(),
                int(width).into(),
                int(arranged.per_token).into(),
            ],
        );
    }

    /// The rows of a table that are named.
    pub fn gather(
        &self,
        table: TablePart<'_, f32>,
        names: &DeviceTable<i32>,
        into: &mut DeviceTable<f32>,
        width: usize,
    ) {
        self.launch_each(
            "gather",
            into.len(),
            &[table.into(), names.into(), into.into(), long(names.len()).into(), int(width).into()],
        );
    }

    /// Where each of these tokens stands.
    pub fn token_places(&self, tokens: &[u32]) -> PlacesOfTokens {
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by_key(|at| tokens[*at]);
        let mut names = Vec::new();
        let mut from = 0;
        for some in order.chunk_by(|a, b| tokens[*a] == tokens[*b]) {
            let token = i32::try_from(tokens[some[0]]).unwrap_or(i32::MAX);
            names.extend([token, int(from), int(from + some.len())]);
            from += some.len();
        }
        let places: Vec<i32> = order.into_iter().map(int).collect();
        let count = names.len() / 3;
        PlacesOfTokens { names: self.upload(&names), places: self.upload(&places), count }
    }

    /// Adds the gradients of tokens' rows, times a factor, to those of their table, in the order of their places. Sums may be
    /// rounded after each token, by random bits of its place.
    pub fn embed_back(
        &self,
        places: &PlacesOfTokens,
        (g, by): (&DeviceTable<f32>, f32),
        into: &mut DeviceTable<f32>,
        width: usize,
        sums: Option<Rounding>,
    ) {
        let narrowing = sums.map(Narrowing::of).unwrap_or_default();
        let Narrowing { dropped, at_random, seed } = narrowing;
        self.launch(
            "embed_back",
            [places.count, width.div_ceil(ITEMS), 1],
            &[
                g.into(),
                (&places.names).into(),
                (&places.places).into(),
                into.into(),
                int(width).into(),
                by.into(),
                i32::from(sums.is_some()).into(),
                dropped.into(),
                at_random.into(),
                seed.into(),
            ],
        );
    }
}

fn gate_number(gate: Gate) -> i32 {
    match gate {
        Gate::Softmax => 0,
        Gate::Sigmoid => 1,
    }
}
