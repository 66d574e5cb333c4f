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

/* Adds the rows of tokens to the rows of their table, in the order of their places. Item by item of `names`: the row of
 * the table, the first of its places, and the end of them. */
KERNEL(embed_back)(READ(float, g), READ(int, names), READ(int, places), WRITE(float, into), INT(width)) {
    OPEN_READ(float, g);
    OPEN_READ(int, names);
    OPEN_READ(int, places);
    OPEN_WRITE(float, into);
    const int i = GROUP(1) * ITEMS + ITEM;
    if (i >= width) return;
    names += 3 * (LONG)GROUP(0);
    const LONG place = (LONG)names[0] * width + i;
    float sum = into[place];
    for (int at = names[1]; at < names[2]; at++) sum = sum + g[(LONG)places[at] * width + i];
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
