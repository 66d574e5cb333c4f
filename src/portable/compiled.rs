//! Every kernel for float32 and for float64, compiled in this crate.
//!
//! A generic function is compiled where it is used: with the optimisation of the crate that uses it, once in
//! each. Kernels are large (three sets of instructions, two kinds of numbers) and slow without optimisation,
//! so what is public only asks the number's type for the kernel, and that is a plain function of this crate.

/// Gives all kernels to a macro.
macro_rules! kernels {
    ($to:ident) => {
        $crate::compiled::$to! {
            fn adamw_step(
                isa: Isa, w: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self], update: Update<Self>,
            ) = $crate::adamw::adamw_step;
            fn adamw_squares(isa: Isa, values: &[Self]) -> f64 = $crate::adamw::adamw_squares;
            fn attention_forward(
                shape: &AttentionShape<Self>, isa: Isa, length: usize, rows: &mut [Self], output: &mut [Self],
            ) = AttentionShape::attention_forward;
            fn attention_backward(
                shape: &AttentionShape<Self>, isa: Isa, length: usize, rows: &[Self], gradient: &[Self],
                into: &mut [Self],
            ) = AttentionShape::attention_backward;
            fn buffer(length: usize) -> Buffer<Self> = $crate::buffer::lend;
            fn cross_entropy_forward(
                isa: Isa, rows: usize, logits: &mut [Self], targets: &[u32], nats: &mut [Self],
            ) = $crate::cross_entropy::cross_entropy_forward;
            fn cross_entropy_score(
                isa: Isa, logits: &[Self], targets: &[u32], nats: &mut [Self], greedy: &mut [bool],
            ) = $crate::cross_entropy::cross_entropy_score;
            fn distance(before: &[Self], after: &[Self]) -> f64 = $crate::reduce::distance_in_order;
            fn length(of: &[Self]) -> f64 = $crate::reduce::length_in_order;
            fn mixture_add(
                arrangement: &Arrangement, isa: Isa, width: usize, table: &[Self], to: &mut [Self],
            ) = Arrangement::mixture_add;
            fn norm_forward(isa: Isa, x: &[Self], weight: &[Self], epsilon: Self, y: &mut [Self])
                = $crate::norm::norm_forward;
            fn norm_backward(
                isa: Isa, x: &[Self], weight: &[Self], epsilon: Self, g: &[Self], residual: &[Self],
                gx: &mut [Self], gw: &mut [Self],
            ) = $crate::norm::norm_backward;
            fn norm_combine(parts: &[Self], gw: &mut [Self]) = $crate::norm::norm_combine;
            fn packed(isa: Isa, b: Matrix<'_, Self>, together: bool) -> Packed<Self> = Packed::by;
            fn packed_product(
                packed: &Packed<Self>, isa: Isa, c: &mut [Self], a: Matrix<'_, Self>, add: Option<&[Self]>,
            ) = Packed::by_all;
            fn packed_rows(
                packed: &Packed<Self>, isa: Isa, c: &mut [Self], a: Matrix<'_, Self>, add: Option<&[Self]>,
            ) = Packed::by_one;
            fn router_choose(router: Router, isa: Isa, logits: &[Self], bias: Option<&[Self]>) -> Routing<Self>
                = Router::router_choose;
            fn router_backward(
                routing: &Routing<Self>, isa: Isa, losses: Coefficients, g_gates: &[Self], into: &mut [Self],
            ) = Routing::router_backward;
            fn swiglu_forward(
                isa: Isa, f: usize, gate_up: &[Self], gates: Option<&[Self]>, s: &mut [Self],
            ) = $crate::swiglu::swiglu_forward;
            fn swiglu_backward(
                isa: Isa, f: usize, gate_up: &[Self], gates: Option<(&[Self], &mut [Self])>, gs: &[Self],
                s: &mut [Self], g_gate_up: &mut [Self],
            ) = $crate::swiglu::swiglu_backward;
        }
    };
}

/// The kernels as functions that a type of numbers has.
macro_rules! declared {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $kernel:path;)+) => {$(
        #[doc(hidden)]
        #[allow(clippy::too_many_arguments)]
        fn $name($($arg: $ty),*) $(-> $ret)?;
    )+};
}

/// The kernels for one type.
macro_rules! compiled {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $kernel:path;)+) => {$(
        fn $name($($arg: $ty),*) $(-> $ret)? {
            $kernel($($arg),*)
        }
    )+};
}

pub(crate) use {compiled, declared, kernels};
