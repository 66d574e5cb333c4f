/* Numbers one by one, and the update of weights. */

KERNEL(fill)(WRITE(float, into), FLOAT(value), LONG count) {
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = value;
}

KERNEL(copy)(READ(float, x), WRITE(float, into), LONG count) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = x[i];
}

KERNEL(scale)(WRITE(float, into), FLOAT(by), LONG count) {
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = into[i] * by;
}

KERNEL(add)(READ(float, x), WRITE(float, into), LONG count) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = into[i] + x[i];
}

KERNEL(add_scaled)(READ(float, x), WRITE(float, into), FLOAT(by), LONG count) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = into[i] + x[i] * by;
}

/* Nothing but fused multiplications and additions, eight chains an item: how many a device makes in a second. */
KERNEL(fuse)(WRITE(float, into), FLOAT(by), FLOAT(more), INT(rounds)) {
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    float chains[8], sum = 0.0f;
    UNROLL for (int c = 0; c < 8; c++) chains[c] = (float)(ITEM + c);
    for (int round = 0; round < rounds; round++) {
        UNROLL for (int c = 0; c < 8; c++) chains[c] = FMA(chains[c], by, more);
    }
    UNROLL for (int c = 0; c < 8; c++) sum = sum + chains[c];
    into[i] = sum;
}

/* Rounds each number to fewer bits; those that lie `period` apart have the same random bits. */
KERNEL(narrow)(WRITE(float, into), LONG count, INT(dropped), INT(at_random), LONG seed, LONG period) {
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = narrowed(into[i], dropped, at_random, (ULONG)seed, (ULONG)(i % period));
}

/* A soft limit. */
KERNEL(cap)(WRITE(float, into), FLOAT(limit), LONG count) {
    OPEN_WRITE(float, into);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) into[i] = limit * hyperbolic_tangent(into[i] / limit);
}

KERNEL(cap_back)(READ(float, capped), WRITE(float, g), FLOAT(limit), LONG count) {
    OPEN_READ(float, capped);
    OPEN_WRITE(float, g);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= count) return;
    const float share = capped[i] / limit;
    g[i] = g[i] * (1.0f - share * share);
}

/* Adds the rows of tokens, times a factor, to the rows of their table, in the order of their places. Item by item of `names`: the
 * row of the table, the first of its places, and the end of them. Sums may be rounded after each token. */
KERNEL(embed_back)(READ(float, g), READ(int, names), READ(int, places), WRITE(float, into), INT(width), FLOAT(by),
                   INT(is_narrowed), INT(dropped), INT(at_random), LONG seed) {
    OPEN_READ(float, g);
    OPEN_READ(int, names);
    OPEN_READ(int, places);
    OPEN_WRITE(float, into);
    const int i = GROUP(1) * ITEMS + ITEM;
    if (i >= width) return;
    names += 3 * (LONG)GROUP(0);
    const LONG place = (LONG)names[0] * width + i;
    float sum = into[place];
    for (int at = names[1]; at < names[2]; at++) {
        const LONG token = places[at];
        sum = sum + g[token * width + i] * by;
        if (is_narrowed) sum = narrowed(sum, dropped, at_random, (ULONG)seed + ((ULONG)token << 24), (ULONG)i);
    }
    into[place] = sum;
}

KERNEL(adamw)(WRITE(float, w), READ(float, g), WRITE(float, m), WRITE(float, v), LONG count, FLOAT(clip), FLOAT(rate),
              FLOAT(decay), FLOAT(beta1), FLOAT(rest1), FLOAT(beta2), FLOAT(rest2), FLOAT(c1), FLOAT(c2),
              FLOAT(epsilon)) {
    OPEN_WRITE(float, w);
    OPEN_READ(float, g);
    OPEN_WRITE(float, m);
    OPEN_WRITE(float, v);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= count) return;
    const float h = g[i] * clip;
    m[i] = m[i] * beta1 + h * rest1;
    v[i] = v[i] * beta2 + h * h * rest2;
    w[i] = w[i] * decay - rate * (m[i] * c1) / (SQRT(v[i] * c2) + epsilon);
}

/* Adam with `coupled` of a weight in its gradient, and with the greatest square so far where it is kept. */
KERNEL(adam)(WRITE(float, w), READ(float, g), WRITE(float, m), WRITE(float, v), WRITE(float, greatest), INT(has_greatest),
             LONG count, FLOAT(clip), FLOAT(rate), FLOAT(decay), FLOAT(beta1), FLOAT(rest1), FLOAT(beta2), FLOAT(rest2),
             FLOAT(c1), FLOAT(c2), FLOAT(epsilon), FLOAT(coupled)) {
    OPEN_WRITE(float, w);
    OPEN_READ(float, g);
    OPEN_WRITE(float, m);
    OPEN_WRITE(float, v);
    OPEN_WRITE(float, greatest);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= count) return;
    const float h = g[i] * clip + w[i] * coupled;
    m[i] = m[i] * beta1 + h * rest1;
    v[i] = v[i] * beta2 + h * h * rest2;
    float square = v[i];
    if (has_greatest) {
        square = more(greatest[i], square);
        greatest[i] = square;
    }
    w[i] = w[i] * decay - rate * (m[i] * c1) / (SQRT(square * c2) + epsilon);
}

/* Momentum, or the sign of it (Lion): the mean takes `kept` of itself and `added` of the gradient, the step `of_mean` of the mean
 * and `of_gradient` of the gradient; Lion's step comes before its mean. */
KERNEL(momentum)(WRITE(float, w), READ(float, g), WRITE(float, m), LONG count, INT(is_sign), FLOAT(clip), FLOAT(rate),
                 FLOAT(decay), FLOAT(coupled), FLOAT(kept), FLOAT(added), FLOAT(of_mean), FLOAT(of_gradient)) {
    OPEN_WRITE(float, w);
    OPEN_READ(float, g);
    OPEN_WRITE(float, m);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= count) return;
    const float h = is_sign ? g[i] * clip : g[i] * clip + w[i] * coupled;
    const float mean = m[i] * kept + h * added;
    float way = (is_sign ? m[i] : mean) * of_mean + h * of_gradient;
    if (is_sign) way = way > 0.0f ? 1.0f : way < 0.0f ? -1.0f : 0.0f;
    w[i] = w[i] * decay - rate * way;
    m[i] = mean;
}

/* Numbers whose squares are one sum. */
#define SQUARED 4096

KERNEL(squares)(READ(float, x), WRITE(double, sums), LONG count) {
    OPEN_READ(float, x);
    OPEN_WRITE(double, sums);
    SHARED(double, lanes, ITEMS);
    const LONG row = OWN_ROW, from = row * SQUARED;
    const LONG end = from + SQUARED < count ? from + SQUARED : count;
    double own = 0.0;
    for (LONG i = from + ITEM % LANES; i < end; i += LANES) own = own + (double)x[i] * (double)x[i];
    const double sum = wide_sum_of_lanes(lanes, own);
    if (ITEM % LANES == 0 && from < count) sums[row] = sum;
}
